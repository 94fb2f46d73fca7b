"""Says what the AWS Neuron SDK is, release by release: one data file each, and its reader."""
