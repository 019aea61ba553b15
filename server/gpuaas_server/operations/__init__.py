"""Operations: one envelope for everything that an app's controller is asked to do, and how it reports on it."""
