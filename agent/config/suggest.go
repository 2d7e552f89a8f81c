package config

import "github.com/kubeloupe/kubeloupe/trace/human"

// didYouMean returns "; did you mean X?" if a known name is similar to name, otherwise "".
func didYouMean(name string, known []string) string {
	if near := human.Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
