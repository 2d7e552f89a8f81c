package report

import (
	"bytes"
	"fmt"
	"io"

	"k8s.io/client-go/util/jsonpath"
	kjson "sigs.k8s.io/json"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// pathPrefix begins a format that is a template of kubectl's JSONPath.
const pathPrefix = "jsonpath="

// parsePath reads a template. Fields that an object does not have are printed as nothing, as kubectl get does.
func parsePath(template string) (*jsonpath.JSONPath, error) {
	if template == "" {
		return nil, fmt.Errorf("%s: the template is missing, for example %s'{.items[*].name}'", pathPrefix, pathPrefix)
	}
	p := jsonpath.New("out").AllowMissingKeys(true)
	if err := p.Parse(template); err != nil {
		return nil, fmt.Errorf("%s%s: %w", pathPrefix, template, err)
	}
	return p, nil
}

// writePath writes what the template selects of a JSON object.
func writePath(w io.Writer, object []byte, template string) error {
	p, err := parsePath(template)
	if err != nil {
		return err
	}
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(object, &v); err != nil {
		return err
	}
	var b bytes.Buffer // what is wrong is known before anything is written
	if err := p.Execute(&b, v); err != nil {
		return fmt.Errorf("%s%s: %w", pathPrefix, template, err)
	}
	_, err = human.Writer(w).Write(b.Bytes())
	return err
}
