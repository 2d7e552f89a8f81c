package redact

import "strings"

// Args is a command line without secrets. The credentials for the manifests' web server are replaced; no other flag has a secret value. The
// slice is not changed.
func Args(args []string) []string {
	out := make([]string, len(args))
	flag := ""
	for i, arg := range args {
		name, value, together := strings.Cut(arg, "=")
		switch {
		case together && shownValue(name, value) != value:
			out[i] = name + "=" + shownValue(name, value)
		case flag != "":
			out[i] = shownValue(flag, arg)
		default:
			out[i] = arg
		}
		flag = ""
		if !together {
			flag = arg
		}
	}
	return out
}

// shownValue returns a flag's redacted value.
func shownValue(flag, value string) string {
	switch "--" + strings.TrimLeft(flag, "-") {
	case "--manifest-url":
		return URL(value)
	case "--manifest-url-header":
		return Mark
	}
	return value
}
