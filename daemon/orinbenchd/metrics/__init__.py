"""What the daemon tells monitoring systems: the board, the queue, the run, itself. Off unless an address is set."""
