package train

import (
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/num"
)

// collapsedAt is the share of one answer from which on a model is called
// collapsed: it has found that always saying the same pays.
const collapsedAt = 0.98

// argmax is the class with the largest output, the first of equals.
func argmax(row []float32) int {
	best := 0
	for i, x := range row {
		if x > row[best] {
			best = i
		}
	}
	return best
}

// crossEntropy is minus the log of the probability that the outputs give to a class.
func crossEntropy(row []float32, class int) float64 {
	top := float64(slices.Max(row))
	sum := 0.0
	for _, x := range row {
		sum += num.Exp(float64(x) - top)
	}
	return num.Log(sum) - (float64(row[class]) - top)
}

// answerShares are the shares of the answers: of each class, or of forecasts above 0 and of the others.
func answerShares(outputs []float32, classes int) []float64 {
	counts := make([]float64, max(classes, 2))
	if classes == 0 {
		for _, x := range outputs {
			if x > 0 {
				counts[0]++
			} else {
				counts[1]++
			}
		}
		classes = 1
	} else {
		for i := 0; i < len(outputs); i += classes {
			counts[argmax(outputs[i:i+classes])]++
		}
	}
	for i := range counts {
		counts[i] /= float64(len(outputs) / classes)
	}
	return counts
}

func collapsed(shares []float64) bool { return slices.Max(shares) > collapsedAt }

// scoreClasses judges the outputs for rows of a classification.
func scoreClasses(ds *Dataset, rows []int32, outputs []float32) *metrics.TestMetrics {
	n := len(ds.Classes)
	confusion := make([][]int, n)
	for i := range confusion {
		confusion[i] = make([]int, n)
	}
	mix, majority := ds.trainingMix()
	loss, baseline := 0.0, 0.0
	right, baselineRight := 0, 0
	for i, row := range rows {
		class, out := int(ds.Table.Class[row]), outputs[i*n:(i+1)*n]
		answer := argmax(out)
		confusion[class][answer]++
		loss += crossEntropy(out, class)
		baseline -= num.Log(mix[class])
		if answer == class {
			right++
		}
		if class == majority {
			baselineRight++
		}
	}
	total := float64(len(rows))
	return &metrics.TestMetrics{
		Samples: len(rows), Accuracy: float64(right) / total, Loss: loss / total,
		BaselineAccuracy: float64(baselineRight) / total,
		Collapsed:        collapsed(answerShares(outputs, n)),
		ClassMetrics:     classMetrics(ds.Classes, confusion, baseline/total),
	}
}

// trainingMix is the share of each class in the training samples, and the most
// frequent class. A class that does not occur there is given half a sample, so
// that its log is a number.
func (ds *Dataset) trainingMix() (mix []float64, majority int) {
	mix = make([]float64, len(ds.Classes))
	for _, row := range ds.Train {
		mix[ds.Table.Class[row]]++
	}
	for i := range mix {
		if mix[i] > mix[majority] {
			majority = i
		}
		mix[i] = max(mix[i], 0.5) / float64(len(ds.Train))
	}
	return mix, majority
}

// majority is the share of the class that the test part has most of; 0 for a regression.
func majority(t *metrics.TestMetrics) float64 {
	if t.ClassMetrics == nil {
		return 0
	}
	most := 0
	for _, c := range t.Classes {
		most = max(most, c.Samples)
	}
	return float64(most) / float64(t.Samples)
}

func classMetrics(names []string, confusion [][]int, baseline float64) *metrics.ClassMetrics {
	m := &metrics.ClassMetrics{BaselineLoss: baseline, Confusion: confusion}
	total, occurring := 0, 0
	for c, name := range names {
		s := metrics.ClassScore{Name: name}
		for other := range names {
			s.Samples += confusion[c][other]
			s.Predicted += confusion[other][c]
		}
		hit := float64(confusion[c][c])
		if s.Predicted > 0 {
			s.Precision = ratio(hit, float64(s.Predicted))
		}
		if s.Samples > 0 {
			s.Recall = ratio(hit, float64(s.Samples))
			occurring++
			m.BalancedAccuracy += *s.Recall
		}
		if s.Predicted+s.Samples > 0 {
			s.F1 = ratio(2*hit, float64(s.Predicted+s.Samples))
		}
		weight := float64(s.Samples)
		m.Precision += float64(weight * orZero(s.Precision))
		m.Recall += float64(weight * orZero(s.Recall))
		m.F1 += float64(weight * orZero(s.F1))
		total += s.Samples
		m.Classes = append(m.Classes, s)
	}
	m.Precision /= float64(total)
	m.Recall /= float64(total)
	m.F1 /= float64(total)
	m.BalancedAccuracy /= float64(occurring)
	return m
}

func ratio(a, b float64) *float64 { return new(a / b) }

func orZero(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

// scoreRegression judges the forecasts for rows of a regression.
func scoreRegression(ds *Dataset, rows []int32, outputs []float32, loss neural.LossSpec) *metrics.TestMetrics {
	trainingMean, up := ds.targets(ds.Train)
	upMost := up > 0.5
	n := float64(len(rows))
	var absolute, square, baseAbsolute, baseSquare, lossSum, sum, sumSquare float64
	right, baselineRight := 0, 0
	for i, row := range rows {
		target, forecast := ds.target(row), ds.Unit.value(outputs[i])
		e, b := forecast-target, trainingMean-target
		absolute += math.Abs(e)
		square += float64(e * e)
		baseAbsolute += math.Abs(b)
		baseSquare += float64(b * b)
		lossSum += pointLoss(loss, e/float64(ds.Unit))
		sum += target
		if forecast > 0 == (target > 0) {
			right++
		}
		if upMost == (target > 0) {
			baselineRight++
		}
	}
	mean := sum / n
	for _, row := range rows {
		d := ds.target(row) - mean
		sumSquare += float64(d * d)
	}
	m := &metrics.RegressionMetrics{
		MAE: absolute / n, RMSE: math.Sqrt(square / n),
		BaselineMAE: baseAbsolute / n, BaselineRMSE: math.Sqrt(baseSquare / n),
	}
	if sumSquare > 0 {
		m.R2 = new(1 - square/sumSquare)
	}
	return &metrics.TestMetrics{
		Samples: len(rows), Accuracy: float64(right) / n, Loss: lossSum / n,
		BaselineAccuracy:  float64(baselineRight) / n,
		Collapsed:         collapsed(answerShares(outputs, 0)),
		RegressionMetrics: m,
	}
}

// pointLoss is the loss of one forecast with this error, as neural.LossSpec defines it.
func pointLoss(l neural.LossSpec, e float64) float64 {
	if size := math.Abs(e); l.Name == neural.Huber && size > l.Delta {
		return l.Delta * (size - float64(l.Delta/2))
	}
	if l.Name == neural.Huber {
		return e * e / 2
	}
	return e * e
}
