// Package num is the arithmetic that must give the same bits on every machine:
// elementary functions, random numbers and compensated sums.
//
// The functions of package math may use an instruction of the CPU, or
// let the compiler fuse a product and a sum, and then the last bit of a result
// depends on where it was computed. Here every function is plain Go over
// operations that IEEE 754 defines exactly (+ - * / and fused multiply-add
// where it is called by name), and every product that is added to something is
// rounded first by an explicit conversion, which the language forbids a
// compiler to remove. The price is a few nanoseconds; errors stay below the
// bound that each function states.
package num
