package podsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// culprit finds the field because of which data cannot be decoded into the type of out, and the error of this field
// alone. Decoders do not report it: theirs have no list indices, and those of types that decode themselves (quantities,
// times, ports) have no path. It finds the field by decoding smaller and smaller parts of the document.
func culprit(data []byte, out any, err error) (field string, _ error) {
	var tree any
	if json.Unmarshal(data, &tree) != nil {
		return "", err
	}
	kind := reflect.TypeOf(out).Elem()
	decode := func(v any) error {
		data, err := json.Marshal(v)
		if err != nil {
			return nil // values that came from JSON can be encoded; if not, this part proves nothing
		}
		return kjson.UnmarshalCaseSensitivePreserveInts(data, reflect.New(kind).Interface())
	}
	return inward(tree, "", err, func(v any) any { return v }, decode)
}

// inward descends into v, which fails with err when wrap puts it into an otherwise empty document.
func inward(v any, field string, err error, wrap func(any) any, decode func(any) error) (string, error) {
	switch v := v.(type) {
	case map[string]any:
		if e := decode(wrap(map[string]any{})); e != nil {
			return field, e
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			in := func(child any) any { return wrap(map[string]any{key: child}) }
			if e := decode(in(v[key])); e != nil {
				return inward(v[key], join(field, key), e, in, decode)
			}
		}
	case []any:
		if e := decode(wrap([]any{})); e != nil {
			return field, e
		}
		for i, child := range v {
			in := func(child any) any { return wrap([]any{child}) }
			if e := decode(in(child)); e != nil {
				return inward(child, fmt.Sprintf("%s[%d]", field, i), e, in, decode)
			}
		}
	}
	return field, err
}

// typeMessage says what was found and what would be valid.
func typeMessage(err error) string {
	var te *json.UnmarshalTypeError
	if !errors.As(err, &te) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	return fmt.Sprintf("is %s: want %s", describeValue(te.Value), describeType(te.Type))
}

func describeValue(value string) string {
	switch value {
	case "object":
		return "a mapping"
	case "array":
		return "a list"
	case "bool":
		return "a boolean (true, false, yes, no, on, off, y, n without quotes)"
	}
	return "a " + value
}

func describeType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return describeType(t.Elem())
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string (put it in quotes)"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	default:
		return t.String()
	}
}

// fieldMessage shortens the decoder's `unknown field "a.b"` to what Problem.Field does not already say.
func fieldMessage(message, field string) string {
	switch message {
	case fmt.Sprintf("unknown field %q", field):
		return "unknown field"
	case fmt.Sprintf("duplicate field %q", field):
		return givenTwice
	}
	return message
}
