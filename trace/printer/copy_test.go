package printer_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/printer"
)

// batches is a source of prepared batches, with one record lost before the second.
type batches [][]trace.Record

func (b *batches) Next(context.Context, []trace.Record) ([]trace.Record, uint64, error) {
	if len(*b) == 0 {
		return nil, 0, io.EOF
	}
	next := (*b)[0]
	*b = (*b)[1:]
	return next, uint64(len(*b)) % 2, nil
}

func TestCopy(t *testing.T) {
	rec := trace.Record{Seq: 1, Event: &trace.Log{Level: trace.LevelInfo, Message: "hello"}}
	var out bytes.Buffer
	if err := printer.Copy(t.Context(), &batches{{rec}, {rec}}, printer.JSON(&out)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "hello"); got != 2 || strings.Count(out.String(), "lost here") != 1 {
		t.Errorf("%d records in:\n%s", got, &out)
	}
}
