package config

import "github.com/kubeloupe/kubeloupe/trace/human"

// didYouMean is "; did you mean X?" when one of the known names is close to name, or empty.
func didYouMean(name string, known []string) string {
	if near := human.Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
