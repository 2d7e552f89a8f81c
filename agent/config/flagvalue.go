package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// A fieldFlag is a flag that sets one field of KubeletConfiguration. Repeating a list or map flag adds to it. As in
// upstream, the flag replaces the file's value (only feature gates merge, see applyGates).
type fieldFlag struct {
	flagSpec
	flag *pflag.Flag
	typ  reflect.Type  // The field's type, without its pointer.
	val  reflect.Value // Invalid until the flag is set.
	def  string
}

// String returns the current value, or the default, in the flag's syntax.
func (f *fieldFlag) String() string {
	if f == nil || !f.val.IsValid() {
		if f == nil {
			return ""
		}
		return f.def
	}
	return f.render(f.val)
}

// Type returns the word for the value in the help.
func (f *fieldFlag) Type() string {
	switch f.typ {
	case reflect.TypeFor[metav1.Duration](), reflect.TypeFor[logsapi.TimeOrMetaDuration]():
		return "duration"
	case reflect.TypeFor[[]string]():
		return "strings"
	}
	switch f.typ.Kind() {
	case reflect.Map:
		return "key" + f.separator() + "value,..."
	case reflect.Int32, reflect.Int64, reflect.Uint32:
		return "int"
	case reflect.Bool:
		return "bool"
	default:
		return "string"
	}
}

// Set parses the flag's argument.
func (f *fieldFlag) Set(s string) error {
	if !f.val.IsValid() {
		f.val = reflect.New(f.typ).Elem()
	}
	return f.parse(s)
}

func (f *fieldFlag) parse(s string) error {
	switch p := f.val.Addr().Interface().(type) {
	case *metav1.Duration:
		return parseDuration(s, &p.Duration)
	case *logsapi.TimeOrMetaDuration:
		p.SerializeAsString = true
		return parseDuration(s, &p.Duration.Duration)
	case *logsapi.VModuleConfiguration:
		return logsapi.VModuleConfigurationPflag(p).Set(s)
	case *[]kubeletv1beta1.MemoryReservation:
		return parseReservedMemory(s, p)
	case *[]corev1.Taint:
		return parseTaints(s, p)
	case *map[string][]string:
		return f.parsePairs(s, func(k, v string) error { (*p)[k] = append((*p)[k], v); return nil }, p)
	case *map[string]string:
		return f.parsePairs(s, func(k, v string) error { (*p)[k] = v; return nil }, p)
	case *map[string]bool:
		return f.parsePairs(s, func(k, v string) error {
			b, err := strconv.ParseBool(v)
			if err != nil {
				return fmt.Errorf("%s must be true or false, not %q", k, v)
			}
			(*p)[k] = b
			return nil
		}, p)
	case *[]string:
		if *p == nil {
			*p = []string{}
		}
		for item := range strings.SplitSeq(s, ",") {
			if item != "" {
				*p = append(*p, item)
			}
		}
		return nil
	case pflag.Value: // Quantities.
		return p.Set(s)
	}
	return parseScalar(s, f.val)
}

func (f *fieldFlag) separator() string {
	switch {
	case f.sep != "":
		return f.sep
	case f.typ == reflect.TypeFor[map[string][]string]():
		return ":"
	default:
		return "="
	}
}

// parsePairs passes each key and value to put. It first creates the map at m, if it is nil.
func (f *fieldFlag) parsePairs(s string, put func(k, v string) error, m any) error {
	if p := reflect.ValueOf(m).Elem(); p.IsNil() {
		p.Set(reflect.MakeMap(p.Type()))
	}
	for item := range strings.SplitSeq(s, ",") {
		if item == "" {
			continue
		}
		k, v, ok := strings.Cut(item, f.separator())
		if k = strings.TrimSpace(k); !ok || k == "" {
			return fmt.Errorf("%q must be written key%svalue", item, f.separator())
		}
		if err := put(k, strings.TrimSpace(v)); err != nil {
			return err
		}
	}
	return nil
}

// render returns a value in the flag's syntax.
func (f *fieldFlag) render(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case metav1.Duration:
		return x.Duration.String()
	case logsapi.TimeOrMetaDuration:
		return x.Duration.Duration.String()
	case []string:
		return strings.Join(x, ",")
	}
	if v.CanAddr() {
		if s, ok := reflect.TypeAssert[fmt.Stringer](v.Addr()); ok {
			return s.String()
		}
	}
	if v.Kind() == reflect.Map {
		parts := make([]string, 0, v.Len())
		for it := v.MapRange(); it.Next(); {
			parts = append(parts, fmt.Sprintf("%v%s%v", it.Key(), f.separator(), it.Value()))
		}
		slices.Sort(parts)
		return strings.Join(parts, ",")
	}
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

// apply sets the field to the flag's value.
func (f *fieldFlag) apply(kc *kubeletv1beta1.KubeletConfiguration) {
	field := fieldAt(reflect.ValueOf(kc).Elem(), f.path, true)
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(f.typ))
		field = field.Elem()
	}
	field.Set(f.val)
}
