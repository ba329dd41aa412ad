package receipt_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sakur4/boundary"
	"sakur4/receipt"
)

func TestCategories(t *testing.T) {
	t.Parallel()
	want := []string{"system", "tools", "pins", "repo map", "recalled notes", "fold summaries", "stubs", "raw history", "template overhead"}
	var got []string
	for _, c := range receipt.Categories() {
		got = append(got, c.String())
		if back, err := receipt.ParseCategory(c.String()); back != c || err != nil {
			t.Errorf("ParseCategory(%q) = %v, %v, want %v", c, back, err, c)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Categories() (-want +got):\n%s", diff)
	}
	if got, err := receipt.ParseCategory("System"); err == nil {
		t.Errorf("ParseCategory(%q) = %v, want an error", "System", got)
	}
	if _, err := json.Marshal(receipt.Part{}); err == nil {
		t.Errorf("Marshal of the zero category succeeded, want an error")
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	parts := receipt.Parts(func(c receipt.Category) int { return int(c) })
	if len(parts) != 9 || parts[0] != (receipt.Part{Category: receipt.System, Tokens: 1}) || parts[8] != (receipt.Part{Category: receipt.TemplateOverhead, Tokens: 9}) {
		t.Errorf("Parts = %v, want all nine categories in order", parts)
	}
	r := receipt.Receipt{Parts: parts}
	if got := r.Tokens(receipt.Stubs); got != 7 {
		t.Errorf("Tokens(stubs) = %d, want 7", got)
	}
	if got := (receipt.Receipt{}).Tokens(receipt.Stubs); got != 0 {
		t.Errorf("Tokens(stubs) of the zero receipt = %d, want 0", got)
	}
}

func TestReuseRatio(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		cache receipt.Cache
		ratio float64
		ok    bool
	}{
		{"not reported", receipt.Cache{Predicted: 100}, 0, false},
		{"not reported, whatever stands there", receipt.Cache{Reused: 75, Prefilled: 25}, 0, false},
		{"nothing reused", receipt.Cache{Measured: true, Prefilled: 100}, 0, true},
		{"three quarters", receipt.Cache{Measured: true, Reused: 75, Prefilled: 25}, 0.75, true},
		{"no prompt", receipt.Cache{Measured: true}, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ratio, ok := receipt.Receipt{Cache: test.cache}.ReuseRatio()
			if ratio != test.ratio || ok != test.ok {
				t.Errorf("ReuseRatio() of %+v = %v, %v, want %v, %v", test.cache, ratio, ok, test.ratio, test.ok)
			}
		})
	}
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	cold := sample()
	cold.Cache = receipt.Cache{Status: boundary.StatusCold, Measured: true, Prefilled: 13450}
	unknown := sample()
	unknown.Cache = receipt.Cache{Predicted: 12000, Shifted: true, Cause: "server down"}
	unknown.Notes, unknown.Floor = nil, ""
	for name, r := range map[string]receipt.Receipt{"full": sample(), "cold": cold, "unknown": unknown, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(r)
			if err != nil {
				t.Fatalf("Marshal = %v", err)
			}
			var back receipt.Receipt
			if err := json.Unmarshal(raw, &back); err != nil {
				t.Fatalf("Unmarshal(%s) = %v", raw, err)
			}
			if diff := cmp.Diff(r, back); diff != "" {
				t.Errorf("Marshal, then Unmarshal (-want +got):\n%s", diff)
			}
		})
	}
}

// TestJSONUnknownIsNotZero: a count that was not reported is null.
func TestJSONUnknownIsNotZero(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(receipt.Receipt{Cache: receipt.Cache{Reused: 5, Prefilled: 7, Drift: 9}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Cache map[string]any }
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verdict", "reused", "prefilled", "prompt", "drift", "millis"} {
		if value, there := got.Cache[name]; !there || value != nil {
			t.Errorf("Marshal of an unmeasured receipt: %s = %v (there: %v), want null", name, value, there)
		}
	}
	if got.Cache["status"] != "unknown" {
		t.Errorf("Marshal of an unmeasured receipt: status = %v, want unknown", got.Cache["status"])
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`[]`, `{"used":1,"parts":[{"category":"system","tokens":2}]}`, `{"parts":[{"category":"other","tokens":0}]}`,
		`{"cache":{"reused":1}}`, `{"cache":{"reused":-1,"prefilled":1}}`, `{"cache":{"status":"warm"}}`, `{"cache":{"verdict":"close"}}`,
	} {
		r := receipt.Receipt{Session: "kept"}
		if err := json.Unmarshal([]byte(raw), &r); err == nil {
			t.Errorf("Unmarshal(%s) = %+v, want an error", raw, r)
		}
		if r.Session != "kept" {
			t.Errorf("Unmarshal(%s) failed and changed the receipt", raw)
		}
	}
}

// FuzzUnmarshal: what can be read is written and read again as the same receipt.
func FuzzUnmarshal(f *testing.F) {
	raw, err := json.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"cache":{"prompt":0,"drift":4,"millis":-1},"notes":[],"parts":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r receipt.Receipt
		if json.Unmarshal(data, &r) != nil {
			return
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("Unmarshal(%s) read %+v, which Marshal refuses: %v", data, r, err)
		}
		var back receipt.Receipt
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("Unmarshal(%s) = %v", raw, err)
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Errorf("Unmarshal(%s), Marshal, Unmarshal (-first +second):\n%s", data, diff)
		}
		_ = r.String()
	})
}
