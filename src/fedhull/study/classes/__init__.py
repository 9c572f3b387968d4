"""What studies of hulls and of moments share: sites with classes under names of their own."""
