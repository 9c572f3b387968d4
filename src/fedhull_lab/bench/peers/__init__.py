"""fedhull beside what people would use instead: the same cells, the same splits."""
