package metrics

import (
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

const (
	// maxValues is how many values a label has that others choose; further ones count together as "other". Upstream's kubelet has
	// each, for as long as it runs.
	maxValues = 64
	// maxValue is how many bytes a value has.
	maxValue = 128
)

// values are those that a label has had.
type values map[string]bool

// label is the value for what a runtime or a driver said: without hidden characters, cut, and one of not too many.
func (v values) label(text string) string {
	if v[text] {
		return text
	}
	text = trace.Clip(human.Visible(text), maxValue)
	switch {
	case v[text]:
	case len(v) >= maxValues:
		return "other"
	default:
		v[text] = true
	}
	return text
}
