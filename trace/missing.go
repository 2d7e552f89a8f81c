package trace

import "regexp"

// Missing is an object of the API server that a pod needs, or the key of one, that does not exist or that the node must not read.
type Missing struct {
	// Kind is configmap, secret, serviceaccount, claim or runtimeclass.
	Kind TargetKind `json:"kind"`
	// Namespace and Name are empty if the error does not name the object.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty" scrub:"text"`
	// Key is the missing key of a ConfigMap or Secret.
	Key string `json:"key,omitempty" scrub:"text"`
	// Forbidden says that the node must not read the object.
	Forbidden bool `json:"forbidden,omitempty"`
}

// maxObjectName limits the names and keys in errors, in bytes: those of objects are not longer.
const maxObjectName = 253

var (
	missingObject = regexp.MustCompile(`\b(configmap|secret|serviceaccount|persistentvolumeclaim|runtimeclass)(?:s?(?:\.[a-z.]+)?) "([^"]+)" (not found|is forbidden)`)
	missingKey    = regexp.MustCompile(`couldn't find key (\S+) in (ConfigMap|Secret) (?:([^/\s]+)/)?(\S+)|references non-existent (config|secret) key(?:: (\S+))?`)
)

// kinds are the kinds of objects in errors.
var missingKinds = map[string]TargetKind{
	"configmap": TargetConfigMap, "ConfigMap": TargetConfigMap, "config": TargetConfigMap, "secret": TargetSecret, "Secret": TargetSecret,
	"serviceaccount": TargetServiceAccount, "persistentvolumeclaim": TargetClaim, "runtimeclass": TargetRuntimeClass,
}

// MissingIn returns the object that an error of class FailObject names; nil if it names none. Anybody may have written parts of the error.
func MissingIn(err string) *Missing {
	err = err[:min(len(err), maxClassified)]
	if !Classify(err).Of(FailObject) {
		return nil
	}
	if m := missingKey.FindStringSubmatch(err); m != nil {
		if m[5] != "" {
			return &Missing{Kind: missingKinds[m[5]], Key: objectName(m[6])}
		}
		return &Missing{Kind: missingKinds[m[2]], Namespace: objectName(m[3]), Name: objectName(m[4]), Key: objectName(m[1])}
	}
	if m := missingObject.FindStringSubmatch(err); m != nil {
		return &Missing{Kind: missingKinds[m[1]], Name: objectName(m[2]), Forbidden: m[3] == "is forbidden"}
	}
	return nil
}

func objectName(s string) string { return Clip(s, maxObjectName) }
