"""S.Inv, the inverse of an encrypted matrix, which the printed learners need."""
