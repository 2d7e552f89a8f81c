package trace

import "regexp"

// FailureClass says what sort of thing went wrong, as far as the text of an error tells. What it is empty for is not known.
type FailureClass string

// The classes of failure.
const (
	FailDeadline     FailureClass = "deadline"      // the runtime gave no answer in time
	FailNameReserved FailureClass = "name-reserved" // the runtime still makes what has the name
	FailNetwork      FailureClass = "pod-network"   // the pod network: CNI is not configured, a plugin failed or is missing
	FailImage        FailureClass = "image"         // the image cannot be had; ErrImagePull and its like
	FailObject       FailureClass = "object"        // a ConfigMap, Secret or another object of the API server is missing or refused
)

// patterns are what the errors of the runtime, of CNI plugins and of the API server look like. What stands first in a text counts: the
// agent's own words and the runtime's come before what they quote, which anybody may have written: an image, a registry, a plugin.
var patterns = []struct {
	class FailureClass
	text  *regexp.Regexp
}{
	{FailNetwork, regexp.MustCompile(`failed to setup network for sandbox|cni (plugin|config) not initialized|plugin type="[^"]+"|failed to find plugin "[^"]+"`)},
	{FailNameReserved, regexp.MustCompile(`name "[^"]*" is reserved for|failed to reserve (sandbox|container) name`)},
	{FailImage, regexp.MustCompile(`\b(ErrImagePull|ImagePullBackOff|RegistryUnavailable|SignatureValidationFailed|ErrImageNeverPull|InvalidImageName|ImageInspectError)\b`)},
	{FailObject, regexp.MustCompile(`\b(configmap|secret|serviceaccount|persistentvolumeclaim|runtimeclass)s?(\.[a-z.]+)? "[^"]+" (not found|is forbidden)|couldn't find key .+ in (ConfigMap|Secret) |references non-existent (config|secret) key|failed to fetch PVC from API server`)},
	{FailDeadline, regexp.MustCompile(`code = DeadlineExceeded|context deadline exceeded`)},
}

// maxClassified bounds how much of an error is looked at: where it begins, it says what it is.
const maxClassified = 4 << 10

// Classify says what sort of failure an error's text tells of.
func Classify(err string) FailureClass {
	if err == "" {
		return ""
	}
	if len(err) > maxClassified {
		err = err[:maxClassified]
	}
	class, first := FailureClass(""), len(err)
	for _, p := range patterns {
		if at := p.text.FindStringIndex(err); at != nil && at[0] < first {
			class, first = p.class, at[0]
		}
	}
	return class
}
