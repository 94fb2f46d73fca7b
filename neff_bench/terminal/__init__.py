"""Says how every command speaks: its streams, messages, signals, exit codes and formats. Imports no other room."""
