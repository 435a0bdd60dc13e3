// Package metrics is what is said of a training: the data that the network saw,
// how the training went, and how well the model answers. Package train computes
// it. Results store it and the API shows it, as it is declared here.
package metrics
