"""RadoLearn on encrypted rados: gradient descent on a public schedule, seen by nobody."""
