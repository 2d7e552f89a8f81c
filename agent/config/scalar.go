package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// scalar decodes a scalar node; false if it does not fit. Types are strict, as in JSON: a number is not a string.
func scalar(n *yaml.Node, v reflect.Value) bool {
	tag := n.ShortTag()
	text := tag == "!!str" || tag == "!!timestamp"
	if u, ok := reflect.TypeAssert[json.Unmarshaler](v.Addr()); ok {
		raw := []byte(n.Value)
		if i, ok := whole(n); ok {
			raw = strconv.AppendInt(nil, i, 10)
		} else if text {
			raw, _ = json.Marshal(n.Value)
		}
		return json.Valid(raw) && u.UnmarshalJSON(raw) == nil
	}
	switch v.Kind() {
	case reflect.String:
		if text {
			v.SetString(n.Value)
		}
		return text
	case reflect.Bool:
		var b bool
		// Plain yes, no, on and off are booleans too: upstream reads YAML 1.1.
		if (tag != "!!bool" && n.Style != 0) || n.Decode(&b) != nil {
			return false
		}
		v.SetBool(b)
		return true
	case reflect.Int32, reflect.Int64:
		i, ok := whole(n)
		if !ok || v.OverflowInt(i) {
			return false
		}
		v.SetInt(i)
		return true
	case reflect.Uint32:
		i, ok := whole(n)
		if !ok || i < 0 || v.OverflowUint(uint64(i)) {
			return false
		}
		v.SetUint(uint64(i))
		return true
	case reflect.Float64:
		var f float64
		if (tag != "!!int" && tag != "!!float") || n.Decode(&f) != nil {
			return false
		}
		v.SetFloat(f)
		return true
	default:
		return false
	}
}

// whole decodes a whole number. Tools write large ones as 1e+06.
func whole(n *yaml.Node) (i int64, ok bool) {
	switch n.ShortTag() {
	case "!!int":
		err := n.Decode(&i)
		return i, err == nil
	case "!!float":
		var f float64
		if n.Decode(&f) != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
			return 0, false
		}
		return int64(f), true
	}
	return 0, false
}

// describe says what a value of type t must be.
func describe(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[metav1.Duration](), reflect.TypeFor[logsapi.TimeOrMetaDuration]():
		return `a duration such as "1m30s"`
	case reflect.TypeFor[metav1.Time]():
		return `a time such as "2026-01-02T15:04:05Z"`
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of at most %d bits", t.Bits())
	case reflect.Uint32:
		return "a whole number that is not negative"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string (numbers and booleans need quotes)"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		if isLeaf(t) && t.Kind() == reflect.Struct {
			return `a quantity such as "500Mi"`
		}
		return "a mapping"
	default:
		return "a " + t.String()
	}
}

// show returns a node as the user wrote it, shortened.
func show(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
	}
	if len(n.Value) > 60 {
		return fmt.Sprintf("%.60q...", n.Value)
	}
	if n.Style == 0 {
		return n.Value
	}
	return fmt.Sprintf("%q", n.Value)
}
