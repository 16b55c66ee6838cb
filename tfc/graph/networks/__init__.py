"""Networks made of other functions: recurrent ones, and losses of sampled classes."""
