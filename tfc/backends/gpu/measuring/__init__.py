"""Programs on a GPU observed step by step: times, counts, occupancy, and what the GPU could do."""
