// Package chart draws series as SVG on the server, so that a figure is on the
// page before any script runs, and in a report that opens offline.
//
// A Plot has one x axis and one y axis. Positions on x are percentages and
// positions on y are pixels: the drawing takes the width it is given and keeps
// its height, and its text is never scaled. Colours and strokes are classes of
// the page's style sheet. Nothing carries a style attribute, so that a
// Content-Security-Policy may forbid inline styles.
//
//	Scale ── At ──> 0…1 ── Plot ──> <div class="ch"> y labels │ plot │ x labels
package chart
