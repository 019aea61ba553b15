"""Operations: what an app's controller is asked to do, as a row with a lease, steps and a deadline."""
