// Package exposition writes metrics for one request, in the formats of Prometheus: text, or protobuf if the client requests it.
// Counters over time are in package trace/metrics.
//
// It owns the format of the response. It knows no metric, runs no goroutine and publishes no event.
package exposition

import (
	"bytes"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Page is the metrics of one response. The zero value is empty and ready to use.
type Page struct{ families []*dto.MetricFamily }

// Gauge begins a metric whose samples follow. A metric without a sample is omitted.
func (p *Page) Gauge(name, help string) { p.begin(name, help, dto.MetricType_GAUGE) }

// Counter is Gauge for a counter.
func (p *Page) Counter(name, help string) { p.begin(name, help, dto.MetricType_COUNTER) }

func (p *Page) begin(name, help string, kind dto.MetricType) {
	p.families = append(p.families, &dto.MetricFamily{Name: &name, Help: &help, Type: &kind})
}

// Labels are labels that many samples share.
type Labels []*dto.LabelPair

// LabelsOf returns labels, which are alternately names and values. Values of labels may come from images and runtimes. People read
// the text on terminals, so hidden characters are escaped, for example as \u202e.
func LabelsOf(labels ...string) Labels {
	pairs, values := make([]dto.LabelPair, len(labels)/2), make([]string, len(labels)/2)
	out := make(Labels, len(pairs))
	for i := range pairs {
		values[i] = human.Visible(labels[2*i+1])
		pairs[i].Name, pairs[i].Value, out[i] = &labels[2*i], &values[i], &pairs[i]
	}
	return out
}

// Sample adds a value to the metric that began last; labels are as in [LabelsOf]. A zero time is omitted.
func (p *Page) Sample(v float64, at time.Time, labels ...string) {
	p.SampleOf(v, at, LabelsOf(labels...))
}

// SampleOf is Sample with labels that other samples have, too, after more of its own.
func (p *Page) SampleOf(v float64, at time.Time, of Labels, more ...string) {
	if len(more) > 0 {
		of = slices.Concat(LabelsOf(more...), of)
	}
	s := &struct { // one allocation for all
		metric  dto.Metric
		counter dto.Counter
		gauge   dto.Gauge
		value   float64
		at      int64
	}{value: v}
	s.metric.Label = of
	if !at.IsZero() {
		s.at = at.UnixMilli()
		s.metric.TimestampMs = &s.at
	}
	f := p.families[len(p.families)-1]
	if f.GetType() == dto.MetricType_COUNTER {
		s.counter.Value, s.metric.Counter = &s.value, &s.counter
	} else {
		s.gauge.Value, s.metric.Gauge = &s.value, &s.gauge
	}
	f.Metric = append(f.Metric, &s.metric)
}

// Families returns the metrics that have samples, for a page that has others, too.
func (p *Page) Families() []*dto.MetricFamily {
	return slices.DeleteFunc(p.families, func(f *dto.MetricFamily) bool { return len(f.Metric) == 0 })
}

// sampleSize is about the size of a sample with its labels, in bytes.
const sampleSize = 256

// Answer writes the page in the format that the request prefers; text by default.
func (p *Page) Answer(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeProtoDelim))
	families, samples := p.Families(), 0
	for _, f := range families {
		samples += len(f.Metric)
	}
	var out bytes.Buffer
	out.Grow(samples * sampleSize)
	encode := expfmt.NewEncoder(&out, format)
	for _, f := range families {
		if err := encode.Encode(f); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", string(format))
	_, _ = w.Write(out.Bytes()) // a client that is gone needs no response
}
