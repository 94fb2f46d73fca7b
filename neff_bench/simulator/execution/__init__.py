"""Runs programs on numpy inputs."""
