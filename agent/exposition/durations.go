package exposition

import (
	"time"

	dto "github.com/prometheus/client_model/go"
)

// bounds are the upper bounds of the buckets of Durations, in seconds: Prometheus' default ones, as most of upstream's metrics have.
var bounds = [...]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Durations are counted durations, for a histogram. The zero value has none. Not safe for concurrent use.
type Durations struct {
	N       uint64
	Seconds float64 // all together
	// Within has for each bucket how many are not longer than its bound.
	Within [len(bounds)]uint64
}

// Add counts a duration.
func (d *Durations) Add(took time.Duration) {
	sec := took.Seconds()
	d.N++
	d.Seconds += sec
	for i, bound := range bounds {
		if sec <= bound {
			d.Within[i]++
		}
	}
}

// Histogram is Gauge for a histogram. Its samples are added with [Page.Durations].
func (p *Page) Histogram(name, help string) { p.begin(name, help, dto.MetricType_HISTOGRAM) }

// Durations adds a sample to the histogram that began last; labels are as in [LabelsOf].
func (p *Page) Durations(d Durations, labels ...string) {
	h := &dto.Histogram{SampleCount: &d.N, SampleSum: &d.Seconds}
	for i, bound := range bounds {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &bound, CumulativeCount: &d.Within[i]})
	}
	f := p.families[len(p.families)-1]
	f.Metric = append(f.Metric, &dto.Metric{Label: LabelsOf(labels...), Histogram: h})
}
