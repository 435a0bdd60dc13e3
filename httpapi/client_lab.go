package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/ktrdr/ktrdr/jobs"

	"github.com/ktrdr/ktrdr"
)

// This file is the client's side of trainings, backtests, predictions and imports.

// StartTraining starts a training. A key makes the call repeatable; it may be
// empty.
func (cl *Client) StartTraining(ctx context.Context, r jobs.TrainingRequest, key string) (out Started, err error) {
	_, err = cl.call(ctx, creating("training/start", key), r, &out)
	return out, err
}

// StartBacktest starts a backtest. A key makes the call repeatable; it may be
// empty.
func (cl *Client) StartBacktest(ctx context.Context, r jobs.BacktestRequest, key string) (out Started, err error) {
	_, err = cl.call(ctx, creating("backtests/start", key), r, &out)
	return out, err
}

// Predict asks a model about the newest bars of a symbol.
func (cl *Client) Predict(ctx context.Context, r jobs.PredictionRequest) (out jobs.Prediction, err error) {
	_, err = cl.call(ctx, request{method: http.MethodPost, path: "predictions"}, r, &out)
	return out, err
}

// StartDataLoad starts an import. A key makes the call repeatable; it may be
// empty.
func (cl *Client) StartDataLoad(ctx context.Context, r jobs.DataLoadRequest, key string) (out Started, err error) {
	_, err = cl.call(ctx, creating("data/load", key), r, &out)
	return out, err
}

// Models returns a page of trained models, newest first, and where the next
// begins.
func (cl *Client) Models(ctx context.Context, limit int, cursor string) (out []jobs.TrainedModel, next string, err error) {
	query := url.Values{}
	setPage(query, limit, cursor)
	next, err = cl.get(ctx, "models", query, &out)
	return out, next, err
}

// Strategies returns the strategies that can be named.
func (cl *Client) Strategies(ctx context.Context) (out []jobs.Strategy, err error) {
	_, err = cl.get(ctx, "strategies", nil, &out)
	return out, err
}

// Results returns what an operation ended with and, of a backtest, a page of the
// columns named; the cursor of the next page is empty on the last.
func (cl *Client) Results(ctx context.Context, id ktrdr.OperationID, include []string, limit int, cursor string) (out Results,
	next string, err error,
) {
	query := url.Values{}
	for _, name := range include {
		query.Add("include", name)
	}
	setPage(query, limit, cursor)
	next, err = cl.get(ctx, operationPath(id, "/results"), query, &out)
	return out, next, err
}

// UploadBlob stores bytes under their hash, as an admin may.
func (cl *Client) UploadBlob(ctx context.Context, h ktrdr.Hash, size int64, r io.Reader) error {
	res, err := cl.do(ctx, request{
		method: http.MethodPut, path: "blobs/" + h.String(), body: r, size: size,
		header: map[string]string{"Content-Type": contentBytes},
	})
	if err != nil {
		return err
	}
	return res.Body.Close()
}
