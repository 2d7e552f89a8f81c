package tracetest

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// InputNoise is the text with which [Noise] replaces a text.
const InputNoise = "noise noise"

// Noise returns a copy of a record whose texts are replaced by noise: all fields with the tag scrub:"text", at any depth, except
// names and fields that must be kept, such as Action.Reason.
func Noise(r trace.Record, keep ...string) trace.Record {
	if r.Event != nil {
		r.Event, _ = reflect.TypeAssert[trace.Event](noisy(reflect.ValueOf(r.Event), slices.Concat(names, keep)))
	}
	return r
}

// names are fields that have the tag because others choose their content, but that contain names.
var names = []string{"RuntimeSpan.Name", "RuntimeSpan.Service", "Decision.Subject", "Target.Name", "Missing.Name", "Missing.Key"}

// noisy returns a copy of a value with noise in its texts.
func noisy(v reflect.Value, keep []string) reflect.Value {
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) && v.IsNil() {
		return v
	}
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		own.Set(reflect.New(v.Type().Elem()))
		own.Elem().Set(noisy(v.Elem(), keep))
	case reflect.Slice:
		own.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			own.Index(i).Set(noisy(v.Index(i), keep))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch isText := f.Tag.Get("scrub") == "text" && !slices.Contains(keep, v.Type().Name()+"."+f.Name); {
			case !f.IsExported():
			case isText && f.Type.Kind() == reflect.String:
				if own.Field(i).Len() > 0 {
					own.Field(i).SetString(InputNoise)
				}
			case isText && f.Type == reflect.TypeFor[[]string]():
				own.Field(i).Set(reflect.ValueOf(slices.Repeat([]string{InputNoise}, v.Field(i).Len())))
			default:
				own.Field(i).Set(noisy(v.Field(i), keep))
			}
		}
	}
	return own
}

// OnlyWords reports whether two drawings, one of them with noise, differ only in words: everything in the drawing with noise except
// the noise is in the other one, in the same order, and nothing else is missing.
func OnlyWords(drawn, noisy string) bool {
	rest, isNoise := strings.FieldsFunc(marks.Replace(drawn), apart), false
	for _, w := range strings.FieldsFunc(marks.Replace(noisy), apart) {
		if begins(noise.Word, strings.ToLower(w)) {
			isNoise = true
			continue
		}
		i := slices.IndexFunc(rest, func(of string) bool { return begins(of, w) || begins(w, of) })
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
	return isNoise || len(rest) == 0
}

// begins reports whether one word is another, or its beginning after a cut.
func begins(word, cut string) bool {
	start, isCut := strings.CutSuffix(cut, "…")
	return word == cut || isCut && strings.HasPrefix(word, start)
}

// marks are separate words, wherever they are.
var marks = strings.NewReplacer("▶", " ▶ ", "◀", " ◀ ")

// apart reports whether a rune separates words.
func apart(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`:,;()"`, r) }
