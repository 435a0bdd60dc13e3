// Package quality judges the content of a series: what a file can say about
// prices that is well formed and still wrong. It is pure: bars go in, findings
// come out, and the memory that it needs beside the bars is a small part of
// theirs.
//
// Every measure is relative to the series itself. A move is compared with the
// median size of the moves around it, so that calm years, turmoil and fat tails
// are judged by their own scale, and with what is usual at its hour of the week.
package quality
