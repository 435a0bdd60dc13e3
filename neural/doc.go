// Package neural trains and runs small networks (MLP, LSTM, GRU) on the CPU, and
// gives the same bits for the same work on every machine.
//
// A Net is a description and its weights. A Trainer moves the weights step by
// step and can be stopped and continued anywhere: see State. A Predictor asks a
// Net. A Kernel is the arithmetic they run on. WriteModel and ReadModel keep a
// trained network in a file.
//
// # Numerics
//
// What follows is the specification that Numerics names. A change of any of it
// changes results, and is a new version. All numbers are float32 in IEEE 754
// round-to-nearest-even unless said otherwise.
//
// Layout. Weights are [in][out]. Outputs, and each gate of a recurrent layer, are
// padded with zeros to a multiple of 16, the rows of a batch and the inputs to a
// multiple of 4. Padding takes part in no result.
//
// Matrix products. Each element is one sum that begins with the bias, or 0, and adds
// the terms in ascending order of the inner index: inputs forward, rows of the batch
// (in time, then in row order) for the gradient of a weight, outputs for the
// gradient of an input. Lanes of a vector hold different elements, so that their
// number does not matter. In class fma/1 a term is one fused multiply-add, denormal
// operands count as zero and a denormal result becomes zero with its sign, where
// denormal means smaller than 2^-126 after rounding to 24 bits (FTZ and DAZ of x86).
// In class portable/1 the product is rounded, then the sum, and denormals are kept.
//
// Loops over elements (activations and their gradients, dropout, the cells of
// recurrent layers, Adam, sums of columns) are the same in both classes: one rounding
// per operation, no fused operation, and denormal results become zero. The order of
// operations is that of the Go functions lstmGo, gruGo, adamGo and their like. ReLU
// and leaky ReLU are max(x, slope*x). Exponentials, logarithms, tanh and sigmoid are
// those of package num. Sums of columns go from the first row to the last.
//
// Sums of squares, for the length of the gradient, are float64: element i of the
// padded parameters goes to sum i mod 16, and the sixteen are added by halves. The
// gradient is multiplied by min(1, clip/(length+1e-6)).
//
// Losses: outputs are subtracted and exponentiated in float32, everything behind
// is float64, rows of a batch are added in order and batches after that, and the
// gradient is rounded to float32 once.
//
// Adam: m = b1*m + (1-b1)*g, v = b2*v + (1-b2)*(g*g), w = shrink*w - rate*m /
// (sqrt(v)+eps'), with rate = lr*sqrt(1-b2^t)/(1-b1^t) and eps' = eps*sqrt(1-b2^t)
// computed in float64 and rounded once; g is clipped before the decay is added.
//
// Randomness is one stream of package num per trainer. A step draws one key per
// dropout layer, in the order of the layers; element i of the padded layer is
// dropped if 16 bits of a hash of key and i are below dropout*2^16, see dropGo.
//
// # What was run where
//
// The AVX2 kernel is tested against the reference kernel on the machine that runs the tests.
// The AVX-512 matrix product is tested so where the CPU has it; elsewhere its text
// is interpreted, instruction by instruction, and must give the same bits. Other
// architectures than amd64 run the two plain kernels and are untested.
package neural

// Numerics is the version of the arithmetic. It goes into states and model files,
// which another version refuses.
const Numerics = "neural/1"
