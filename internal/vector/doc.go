// Package vector holds dense vectors of texts in one byte a number, and finds those that point most nearly where a query's points.
//
// [Pack] makes a stored vector of a model's, [NewQuery] what it is compared with, and a [Matrix] holds many. A search looks at every vector that it is to
// look at: there is no index that could miss one.
package vector
