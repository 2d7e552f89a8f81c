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

// Sample adds a value to the metric that began last; labels are alternately names and values. A zero time is omitted.
// Values of labels may come from images and runtimes. People read the text on terminals, so hidden characters are
// escaped, for example as \u202e.
func (p *Page) Sample(v float64, at time.Time, labels ...string) {
	var m dto.Metric
	for i := 0; i+1 < len(labels); i += 2 {
		m.Label = append(m.Label, &dto.LabelPair{Name: &labels[i], Value: new(human.Visible(labels[i+1]))})
	}
	if !at.IsZero() {
		m.TimestampMs = new(at.UnixMilli())
	}
	f := p.families[len(p.families)-1]
	if f.GetType() == dto.MetricType_COUNTER {
		m.Counter = &dto.Counter{Value: &v}
	} else {
		m.Gauge = &dto.Gauge{Value: &v}
	}
	f.Metric = append(f.Metric, &m)
}

// Families returns the metrics that have samples, for a page that has others, too.
func (p *Page) Families() []*dto.MetricFamily {
	return slices.DeleteFunc(p.families, func(f *dto.MetricFamily) bool { return len(f.Metric) == 0 })
}

// Answer writes the page in the format that the request prefers; text by default.
func (p *Page) Answer(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateAccept(r.Header, expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeProtoDelim))
	var out bytes.Buffer
	encode := expfmt.NewEncoder(&out, format)
	for _, f := range p.Families() {
		if err := encode.Encode(f); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", string(format))
	_, _ = w.Write(out.Bytes()) // a client that is gone needs no response
}
