"""Know where the time goes in a kernel on AWS Trainium and Inferentia."""
