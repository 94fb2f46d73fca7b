"""Compiles with the AWS Neuron SDK. Nothing here is imported unless the SDK was found and chosen."""
