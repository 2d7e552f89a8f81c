package metrics

import (
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

const (
	// maxValues limits how many values a label has that others choose; further ones count together as "other".
	// Upstream's kubelet keeps each one as long as it runs.
	maxValues = 64
	// maxValue limits the length of a value, in bytes.
	maxValue = 128
)

// values are the values that a label has had.
type values map[string]bool

// label returns the label value for a text of a runtime or a driver: without hidden characters, cut, and "other" if
// there are too many.
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
