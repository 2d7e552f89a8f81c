package podspec

import (
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func envFields() []string {
	return []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
}

func volumeFields() []string {
	return []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
}

func resourceFields() []string {
	return []string{
		"limits.cpu", "limits.memory", "limits.ephemeral-storage",
		"requests.cpu", "requests.memory", "requests.ephemeral-storage",
	}
}

// validateFieldRef accepts the listed fields and single labels and annotations.
func validateFieldRef(r *v1.ObjectFieldSelector, known []string, path *field.Path) field.ErrorList {
	at := path.Child("fieldPath")
	if r.APIVersion != "v1" {
		return field.ErrorList{field.NotSupported(path.Child("apiVersion"), r.APIVersion, []string{"v1"})}
	}
	if r.FieldPath == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	if base, key, ok := subscript(r.FieldPath); ok {
		if base != "metadata.labels" && base != "metadata.annotations" {
			return field.ErrorList{field.Invalid(at, r.FieldPath, "only metadata.labels and metadata.annotations take a subscript")}
		}
		if base == "metadata.annotations" {
			key = strings.ToLower(key)
		}
		return messages(at, r.FieldPath, validation.IsQualifiedName(key))
	}
	name := r.FieldPath
	if name == "spec.host" { // the older name
		name = "spec.nodeName"
	}
	if !slices.Contains(known, name) {
		return field.ErrorList{field.NotSupported(at, r.FieldPath, known)}
	}
	return nil
}

// subscript splits metadata.labels['a'] into metadata.labels and a.
func subscript(path string) (base, key string, ok bool) {
	rest, ok := strings.CutSuffix(path, "']")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "['")
}

func validateResourceFieldRef(r *v1.ResourceFieldSelector, volume bool, path *field.Path) field.ErrorList {
	at := path.Child("resource")
	switch {
	case volume && r.ContainerName == "":
		return field.ErrorList{field.Required(path.Child("containerName"), "")}
	case r.Resource == "":
		return field.ErrorList{field.Required(at, "")}
	case !slices.Contains(resourceFields(), r.Resource) &&
		!strings.HasPrefix(r.Resource, "limits.hugepages-") && !strings.HasPrefix(r.Resource, "requests.hugepages-"):
		return field.ErrorList{field.NotSupported(at, r.Resource, resourceFields())}
	}
	return validateDivisor(r, path.Child("divisor"))
}

func validateDivisor(r *v1.ResourceFieldSelector, path *field.Path) field.ErrorList {
	if r.Divisor.IsZero() {
		return nil
	}
	units, want := `1(k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?`, "must be 1 or a unit such as 1k, 1M, 1Ki, 1Mi, 1Gi"
	if strings.HasSuffix(r.Resource, ".cpu") {
		units, want = `1m?`, "must be 1 or 1m"
	}
	if !regexp.MustCompile(`^(` + units + `)$`).MatchString(r.Divisor.String()) {
		return field.ErrorList{field.Invalid(path, r.Divisor.String(), want)}
	}
	return nil
}
