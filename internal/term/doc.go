// Package term prints for people: tables, colours, a screen that is redrawn, and
// numbers, times and sizes in short.
package term
