package config

import (
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// didYouMean is "; did you mean X?" when one of the known names is close to name, or empty.
func didYouMean(name string, known []string) string {
	best, distance := "", 3
	if len(name) > 64 {
		return ""
	}
	for _, k := range known {
		if strings.EqualFold(k, name) {
			best = k
			break
		}
		if d := human.Distance(strings.ToLower(name), strings.ToLower(k)); d < distance && d < len(k)/2 {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}
