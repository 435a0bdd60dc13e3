package metrics

import "github.com/ktrdr/ktrdr/market"

// Metrics are the figures of a training. The names are those that the API
// shows. What is undefined is null, and nothing in them depends on the clock:
// the same training gives the same bytes.
type Metrics struct {
	Training TrainingMetrics `json:"training_metrics"`
	Test     *TestMetrics    `json:"test_metrics"` // null when the split has no test part
	Model    ModelInfo       `json:"model_info"`
	Data     DataSummary     `json:"data_summary"`
	Warnings []string        `json:"warnings"`
}

// TrainingMetrics tell how the training went. Accuracies of a regression are
// the share of forecasts with the right sign.
type TrainingMetrics struct {
	EpochsTrained      int      `json:"epochs_trained"`
	FinalTrainLoss     float64  `json:"final_train_loss"` // of the last epoch, dropout on
	FinalTrainAccuracy float64  `json:"final_train_accuracy"`
	BestTrainAccuracy  float64  `json:"best_train_accuracy"`
	FinalValLoss       *float64 `json:"final_val_loss"` // of the last epoch
	FinalValAccuracy   *float64 `json:"final_val_accuracy"`
	BestValAccuracy    *float64 `json:"best_val_accuracy"`

	BestEpoch    int    `json:"best_epoch"`    // whose weights the model has, from 1
	RestoredBest bool   `json:"restored_best"` // they are not those of the last epoch
	StoppedEarly bool   `json:"stopped_early"`
	Monitor      string `json:"monitor"` // what best means; "" without validation

	// What the model answers on the validation part: the share of each class, or
	// of the forecasts above 0 and of the others.
	ValPredicted []float64 `json:"val_predicted_share"`
	ValCollapsed bool      `json:"val_collapsed"`

	History History `json:"history"`
}

// History has one value for each epoch. Those of the validation are empty without a validation part.
type History struct {
	TrainLoss     []float64 `json:"train_loss"`
	TrainAccuracy []float64 `json:"train_accuracy"`
	ValLoss       []float64 `json:"val_loss"`
	ValAccuracy   []float64 `json:"val_accuracy"`
	LearningRate  []float64 `json:"learning_rate"`
}

// TestMetrics are what the model is worth on bars that nothing was fitted to.
// Each sample counts once, whatever training weighed it with.
type TestMetrics struct {
	Samples   int     `json:"samples"`
	Accuracy  float64 `json:"test_accuracy"` // of a regression: the share with the right sign
	Loss      float64 `json:"test_loss"`     // mean cross-entropy, or the loss that the regression was trained with
	Collapsed bool    `json:"collapsed"`     // almost all answers are one: see collapsedAt

	// BaselineAccuracy is what always answering with the class, or the sign,
	// that is the most frequent in training would have reached here.
	BaselineAccuracy float64 `json:"baseline_accuracy"`

	*ClassMetrics
	*RegressionMetrics
}

// ClassMetrics are the figures of a classification. Precision, Recall and F1
// are means weighed by the number of samples of each class; a class that is
// never answered counts with precision 0.
type ClassMetrics struct {
	Precision        float64      `json:"precision"`
	Recall           float64      `json:"recall"`
	F1               float64      `json:"f1_score"`
	BalancedAccuracy float64      `json:"balanced_accuracy"` // mean recall of the classes that occur
	BaselineLoss     float64      `json:"baseline_loss"`     // cross-entropy of always answering with the class mix of training
	Classes          []ClassScore `json:"per_class"`
	Confusion        [][]int      `json:"confusion_matrix"` // [true class][answer]
}

// ClassScore is how one class did.
type ClassScore struct {
	Name      string   `json:"name"`
	Samples   int      `json:"samples"`
	Predicted int      `json:"predicted"`
	Precision *float64 `json:"precision"` // null when it was never answered
	Recall    *float64 `json:"recall"`    // null when it does not occur
	F1        *float64 `json:"f1_score"`
}

// RegressionMetrics are the figures of a regression. The baselines are those
// of always answering with the mean of training.
type RegressionMetrics struct {
	MAE          float64  `json:"mae"`
	RMSE         float64  `json:"rmse"`
	R2           *float64 `json:"r2"` // against the mean of the test part; null when all its values are one
	BaselineMAE  float64  `json:"baseline_mae"`
	BaselineRMSE float64  `json:"baseline_rmse"`
}

// ModelInfo describes the network.
type ModelInfo struct {
	Architecture        string `json:"architecture"`
	ParametersCount     int    `json:"parameters_count"`
	TrainableParameters int    `json:"trainable_parameters"` // all of them
	KernelClass         string `json:"kernel_class"`
}

// DataSummary tells what the network was trained and judged on.
type DataSummary struct {
	Sources  []Source     `json:"sources"`
	Context  []Source     `json:"context_sources,omitempty"` // bars of context symbols
	Features []string     `json:"features"`
	Split    Split        `json:"split"`
	Parts    []PartReport `json:"parts"`
	Unit     float64      `json:"target_unit,omitempty"` // of a regression: losses are of targets counted in it
}

// Source says which bars were read, so that a result can name its data.
type Source struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Hash      string           `json:"hash"` // of market.Bars.Hash, in hex
	Bars      int              `json:"bars"`
	First     int64            `json:"first"` // opening instants, Unix seconds
	Last      int64            `json:"last"`
}

// Split is where the parts of the data begin: opening instants of bars, Unix
// seconds, the same for every symbol. A part ends where the next one begins, and
// is empty when both begin at once.
//
//	        Validation          Test           End
//	training │    validation     │     test     │
type Split struct {
	Validation int64 `json:"validation"`
	Test       int64 `json:"test"`
	End        int64 `json:"end"` // just after the last sample
}

// Holds counts the bars at which the signal is to hold, by the reason.
type Holds struct {
	Undefined int `json:"undefined"` // a feature has no value, or too few bars have passed
	Unsure    int `json:"unsure"`    // the answer would trade, and is below the confidence threshold or the cost
	Answered  int `json:"answered"`  // hold is the answer

	Followed int `json:"-"` // the other bars, at which the signal is to trade
}
