"""pycuda without a GPU: the names the engines use, over memory of the host. The pool's rules are pycuda's own."""
