package podsource

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

const (
	// maxProblems limits the problems of one manifest: each is published, and nobody reads more.
	maxProblems = 20
	// maxDocuments limits the documents of a manifest and the items of its lists: a node runs far fewer pods.
	maxDocuments = 1000
)

// Decode returns the static pods of a manifest, complete with defaults and identity, and its errors. Valid pods are returned even
// if others are invalid; the caller decides whether to use them. Nothing is read after the twentieth error or the thousandth
// document. The users who can write to the directory, and the server of the URL, write the manifest. It holds YAML or JSON
// documents of kind Pod, PodList or List; only a list may have no pods. Unknown fields, and those that are given twice, are warnings, at most twenty and one; of an invalid pod
// they are errors, because they may be why. Path is named in problems and enters the pods' UIDs; node is the node's name.
//
// Upstream: pkg/kubelet/config/common.go, tryDecodeSinglePod, which reads one document.
func Decode(path string, data []byte, node string) (pods []*v1.Pod, problems, warnings []Problem) {
	d := decoder{path: path, node: node, names: make(map[string]struct{})}
	for doc := range documents(data) {
		if d.full(doc.line) {
			break
		}
		d.document(doc)
	}
	if len(d.pods) == 0 && len(d.problems) == 0 && !d.none {
		d.problems = append(d.problems, Problem{Path: path, Message: "holds no pod: want a manifest with apiVersion: v1 and kind: Pod"})
	}
	return d.pods, d.problems, d.warnings
}

type decoder struct {
	path, node string
	names      map[string]struct{}
	pods       []*v1.Pod
	problems   []Problem
	warnings   []Problem
	none       bool // a list has no items, on purpose
	read       int  // documents and items so far
	cut        bool
}

// full reports whether nothing more must be read, and adds a problem for that once. line is that of the next document,
// which it counts.
func (d *decoder) full(line int) bool {
	if d.read++; d.cut || d.read <= maxDocuments {
		return d.cut
	}
	d.stop(line, fmt.Sprintf("holds more than %d documents and items: the rest is not read, split it", maxDocuments))
	return true
}

func (d *decoder) stop(line int, message string) {
	d.cut = true
	d.problems = append(d.problems, Problem{Path: d.path, Line: line, Message: message})
}

func (d *decoder) problem(doc *document, field, message string) {
	switch {
	case d.cut:
	case len(d.problems) == maxProblems:
		d.stop(0, fmt.Sprintf("has more than %d problems: fix these first, the rest is not read", maxProblems))
	default:
		d.problems = append(d.problems, Problem{Path: d.path, Line: doc.locate(field), Field: field, Message: message})
	}
}

// ignored is a field that is not used.
type ignored struct{ field, message string }

// warn adds unused fields of a document as warnings.
func (d *decoder) warn(doc *document, unused []ignored) {
	for _, f := range unused {
		message := f.message + ": ignored"
		if f.message == givenTwice {
			message = f.message + lastCounts
		}
		d.warning(Problem{Line: doc.locate(f.field), Field: f.field, Message: message})
	}
}

func (d *decoder) warning(p Problem) {
	switch n := len(d.warnings); {
	case n > maxProblems:
		return
	case n == maxProblems:
		p = Problem{Message: fmt.Sprintf("has more than %d fields that are unknown or given twice: the others are not listed", maxProblems)}
	}
	p.Path = d.path
	d.warnings = append(d.warnings, p)
}

func (d *decoder) document(doc *document) {
	data, p := doc.json()
	if p != nil {
		if len(d.problems) == maxProblems {
			d.problem(doc, "", p.Message)
			return
		}
		p.Path = d.path
		d.problems = append(d.problems, *p)
		return
	}
	if doc.twice != nil {
		d.warning(*doc.twice)
	}
	if string(data) != "null" {
		d.object(doc, "", data, "")
	}
}

// object decodes the Pod or list at a field of doc. implied is the kind if the object has none.
func (d *decoder) object(doc *document, field string, data []byte, implied string) {
	var meta metav1.TypeMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &meta); err != nil {
		d.problem(doc, field, "is not a Kubernetes object: want a mapping with apiVersion, kind, metadata, spec")
		return
	}
	if meta.Kind == "" && meta.APIVersion == "" && implied != "" {
		meta = metav1.TypeMeta{APIVersion: "v1", Kind: implied}
	}
	switch {
	case meta.Kind == "":
		d.problem(doc, join(field, "kind"), "is missing: want Pod")
	case meta.Kind == "Pod" && meta.APIVersion != "v1":
		d.problem(doc, join(field, "apiVersion"), fmt.Sprintf("is %q: want v1", meta.APIVersion))
	case meta.Kind == "Pod":
		d.pod(doc, field, data)
	case (meta.Kind == "List" || meta.Kind == "PodList") && field == "":
		d.list(doc, meta.Kind, data)
	default:
		d.problem(doc, join(field, "kind"), fmt.Sprintf("is %q: a static pod manifest holds kind Pod, PodList or List only", meta.Kind))
	}
}

func (d *decoder) list(doc *document, kind string, data []byte) {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta   `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	unused, ok := d.strict(doc, "", data, &list)
	if !ok {
		return
	}
	d.warn(doc, unused)
	d.none = d.none || len(list.Items) == 0 && hasItems(data)
	implied := ""
	if kind == "PodList" {
		implied = "Pod"
	}
	for i, item := range list.Items {
		if d.full(doc.line) {
			return
		}
		d.object(doc, fmt.Sprintf("items[%d]", i), item, implied)
	}
}

// hasItems reports whether a list has the field items, which may be empty. Without it, the list may be the beginning of a longer one.
func hasItems(data []byte) bool {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(data, &fields) // it was decoded before
	_, has := fields["items"]
	return has
}

func (d *decoder) pod(doc *document, field string, data []byte) {
	p := new(v1.Pod)
	unused, ok := d.strict(doc, field, data, p)
	if !ok {
		return
	}
	if d.valid(doc, field, p, unused) {
		d.warn(doc, unused)
		d.names[podspec.FullName(p)] = struct{}{}
		d.pods = append(d.pods, p)
	}
}

// valid completes a pod, adds its problems, and reports whether it has none. If it has, the unused fields are problems, too.
func (d *decoder) valid(doc *document, field string, p *v1.Pod, unused []ignored) bool {
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	if p.Name == "" {
		d.unused(doc, unused)
		d.problem(doc, join(field, "metadata.name"), "is missing")
		return false
	}
	podspec.SetDefaults(p)
	if err := podspec.MakeStatic(p, d.path, d.node); err != nil {
		d.problem(doc, field, err.Error())
		return false
	}
	errs := append(podspec.Validate(p), podspec.References(p)...)
	if len(errs) > 0 {
		d.unused(doc, unused)
	}
	for _, err := range errs {
		if d.cut {
			return false
		}
		d.problem(doc, join(field, err.Field), err.ErrorBody())
	}
	if len(errs) > 0 {
		return false
	}
	if _, dup := d.names[podspec.FullName(p)]; dup {
		d.problem(doc, join(field, "metadata.name"), fmt.Sprintf("pod %s/%s is defined twice in this file", p.Namespace, p.Name))
		return false
	}
	return true
}

// unused adds unused fields as problems.
func (d *decoder) unused(doc *document, unused []ignored) {
	for _, f := range unused {
		d.problem(doc, f.field, f.message)
	}
}

// strict decodes data into out. It returns the fields that are not used, and adds the problem if it cannot be decoded: then ok is false.
func (d *decoder) strict(doc *document, field string, data []byte, out any) (unused []ignored, ok bool) {
	strict, err := kjson.UnmarshalStrict(data, out)
	if err != nil {
		at, err := culprit(data, out, err)
		d.problem(doc, join(field, at), typeMessage(err))
		return nil, false
	}
	for _, e := range strict {
		at, message := "", e.Error()
		if fe, ok := errors.AsType[kjson.FieldError](e); ok {
			at = fe.FieldPath()
			message = fieldMessage(message, at)
		}
		unused = append(unused, ignored{join(field, at), message})
	}
	return unused, true
}

func join(field, child string) string {
	if field == "" || child == "" {
		return field + child
	}
	return field + "." + child
}
