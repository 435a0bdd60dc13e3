//go:build race

package market

// raceDetector: the test binary allocates more than the program does.
const raceDetector = true
