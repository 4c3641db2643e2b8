// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of docs/Numerics.md 1 to 6 and 10 as combinational functions on
// bits. Written from that page; no floating-point type of the simulator takes
// part. `no_inline_task` keeps the generated C++ small.

package numerics;
  import ashlar_isa::*;

  localparam logic [31:0] CANONICAL_NAN = 32'h7fc00000;
  localparam logic signed [15:0] CLEARED = -16'sd32768;

  // Bytes of a stored element.
  function automatic int stored_bytes(input int elem, input int mantissa);
    // verilator no_inline_task
    case (elem)
      ELEMTYPE_F16, ELEMTYPE_BF16, ELEMTYPE_I16, ELEMTYPE_U16: return 2;
      ELEMTYPE_I8, ELEMTYPE_U8, ELEMTYPE_BOOL: return 1;
      ELEMTYPE_I64, ELEMTYPE_U64, ELEMTYPE_F64: return 8;
      ELEMTYPE_BFP: return mantissa <= 8 ? 1 : 2;
      default: return 4;
    endcase
  endfunction

  function automatic int ceil_div(input int a, input int b);
    // verilator no_inline_task
    return (a + b - 1) / b;
  endfunction

  // Position of the highest set bit, -1 of zero.
  function automatic int msb(input longint unsigned v);
    // verilator no_inline_task
    for (int i = 63; i >= 0; i--)
      if (v[i]) return i;
    return -1;
  endfunction

  // v * 2^-s to the nearest integer, ties to even.
  function automatic longint unsigned rne_magnitude(input longint unsigned v,
                                                    input int s);
    // verilator no_inline_task
    longint unsigned kept, rest, half;
    if (s <= 0) return v << -s;
    if (s > 64) return 0;
    if (s == 64) return v > 64'h8000000000000000 ? 1 : 0;
    kept = v >> s;
    rest = v - (kept << s);
    half = 64'd1 << (s - 1);
    if (rest > half || (rest == half && kept[0])) kept = kept + 1;
    return kept;
  endfunction

  function automatic longint signed rne_signed(input longint signed v,
                                               input int s);
    // verilator no_inline_task
    longint unsigned m;
    m = rne_magnitude(v < 0 ? -v : v, s);
    return v < 0 ? -m : m;
  endfunction

  //--- Block format -----------------------------------------------------------

  // Largest magnitude of a mantissa of w bits.
  function automatic longint signed mantissa_limit(input int w);
    // verilator no_inline_task
    return (64'sd1 <<< (w - 1)) - 1;
  endfunction

  // A fetched mantissa: sign extension, and the code that no encoder writes.
  function automatic longint signed fetch_mantissa(input longint unsigned word,
                                                   input int w);
    // verilator no_inline_task
    longint signed m;
    m = longint'(word << (64 - w));
    m = m >>> (64 - w);
    return m < -mantissa_limit(w) ? -mantissa_limit(w) : m;
  endfunction

  typedef struct packed {
    logic signed [31:0] m;  // Aligned mantissa m'.
    logic [7:0] up;         // D - s': left shift in the cell.
  } aligned_t;

  // Alignment to the scale exponent `scale` with range d (Numerics 3).
  function automatic aligned_t align(input longint signed m, input int cell_x,
                                     input int scale, input int w, input int d);
    // verilator no_inline_task
    aligned_t r;
    int s;
    longint signed wide, limit;
    limit = mantissa_limit(w);
    s = scale - (cell_x - (w - 2));
    r.m = 0;
    r.up = 0;
    if (m == 0) return r;
    if (s > d) begin
      wide = rne_signed(m, s - d > 63 ? 63 : s - d);
      r.up = 0;
    end else if (s >= 0) begin
      wide = m;
      r.up = 8'(d - s);
    end else begin
      wide = -s > 32 ? (m > 0 ? limit : -limit) : m <<< -s;
      if (wide > limit) wide = limit;
      if (wide < -limit) wide = -limit;
      r.up = 8'(d);
    end
    r.m = 32'(wide);
    return r;
  endfunction

  // The scale exponent as operand fetch sees a register.
  function automatic int scale_of(input logic signed [15:0] xr, input int w);
    // verilator no_inline_task
    return xr == CLEARED ? -128 - (w - 2) : int'(xr);
  endfunction

  //--- Binary32 ---------------------------------------------------------------

  function automatic logic f32_nan(input logic [31:0] v);
    // verilator no_inline_task
    return v[30:23] == 8'hff && v[22:0] != 0;
  endfunction
  function automatic logic f32_inf(input logic [31:0] v);
    // verilator no_inline_task
    return v[30:0] == 31'h7f800000;
  endfunction
  function automatic logic f32_zero(input logic [31:0] v);
    // verilator no_inline_task
    return v[30:0] == 0;
  endfunction
  function automatic logic [31:0] canonical(input logic [31:0] v);
    // verilator no_inline_task
    return f32_nan(v) ? CANONICAL_NAN : v;
  endfunction
  // |v| = f32_mant * 2^f32_exp for a finite v.
  function automatic longint unsigned f32_mant(input logic [31:0] v);
    // verilator no_inline_task
    return v[30:23] == 0 ? 64'(v[22:0]) : 64'({1'b1, v[22:0]});
  endfunction
  function automatic int f32_exp(input logic [31:0] v);
    // verilator no_inline_task
    return v[30:23] == 0 ? -149 : int'(v[30:23]) - 150;
  endfunction
  // floor(log2 |v|) of a finite v that is not zero.
  function automatic int f32_log2(input logic [31:0] v);
    // verilator no_inline_task
    return msb(f32_mant(v)) + f32_exp(v);
  endfunction

  // magnitude * 2^e rounded once to a format of p significant bits, least
  // exponent qmin of a unit and largest field emax; the field layout is
  // exponent, fraction without the hidden bit; the sign is the caller's.
  function automatic logic [63:0] pack(input longint unsigned magnitude,
                                       input int e, input int p, input int qmin,
                                       input int emax);
    // verilator no_inline_task
    int top, q;
    longint unsigned m, field;
    if (magnitude == 0) return 0;
    top = msb(magnitude);
    q = top - (p - 1) + e;
    if (q < qmin) q = qmin;
    m = rne_magnitude(magnitude, q - e);
    if (m[p]) begin
      m = m >> 1;
      q = q + 1;
    end
    field = m[p-1] ? 64'(q - qmin + 1) : 0;
    if (field >= 64'(emax)) begin
      field = 64'(emax);
      m = 0;
    end
    return (field << (p - 1)) | (m & ((64'd1 << (p - 1)) - 1));
  endfunction

  function automatic logic [31:0] pack_f32(input logic sign,
                                           input longint unsigned magnitude,
                                           input int e);
    // verilator no_inline_task
    return {sign, 31'(pack(magnitude, e, 24, -149, 255))};
  endfunction

  // rne32(v * 2^e); +0 of zero.
  function automatic logic [31:0] sum_to_f32(input longint signed v,
                                             input int e);
    // verilator no_inline_task
    if (v == 0) return 0;
    return pack_f32(v < 0, v < 0 ? -v : v, e);
  endfunction

  function automatic logic [31:0] f32_mul(input logic [31:0] a,
                                          input logic [31:0] b);
    // verilator no_inline_task
    logic sign;
    sign = a[31] ^ b[31];
    if (f32_nan(a) || f32_nan(b)) return CANONICAL_NAN;
    if (f32_inf(a) || f32_inf(b))
      return f32_zero(a) || f32_zero(b) ? CANONICAL_NAN : {sign, 31'h7f800000};
    return pack_f32(sign, f32_mant(a) * f32_mant(b), f32_exp(a) + f32_exp(b));
  endfunction

  function automatic logic [31:0] f32_add(input logic [31:0] a,
                                          input logic [31:0] b);
    // verilator no_inline_task
    logic [31:0] upper, lower;
    int diff;
    longint unsigned low;
    longint signed sum;
    if (f32_nan(a) || f32_nan(b)) return CANONICAL_NAN;
    if (f32_inf(a)) return f32_inf(b) && a[31] != b[31] ? CANONICAL_NAN : a;
    if (f32_inf(b)) return b;
    if (f32_zero(a) && f32_zero(b)) return {a[31] & b[31], 31'd0};
    upper = f32_exp(a) >= f32_exp(b) ? a : b;
    lower = f32_exp(a) >= f32_exp(b) ? b : a;
    diff = f32_exp(upper) - f32_exp(lower);
    low = f32_mant(lower);
    // Beyond 38 places the lower operand only shows as a sticky bit.
    if (diff > 38) begin
      if (diff - 38 >= 24) low = low != 0 ? 1 : 0;
      else begin
        longint unsigned cut;
        cut = low >> (diff - 38);
        low = cut | ((cut << (diff - 38)) != low ? 64'd1 : 64'd0);
      end
      diff = 38;
    end
    sum = upper[31] ? -(f32_mant(upper) << diff) : f32_mant(upper) << diff;
    sum = lower[31] ? sum - low : sum + low;
    if (sum == 0) return 0;
    return pack_f32(sum < 0, sum < 0 ? -sum : sum, f32_exp(upper) - diff);
  endfunction

  function automatic logic f32_less(input logic [31:0] a, input logic [31:0] b);
    // verilator no_inline_task
    if (f32_nan(a) || f32_nan(b) || (f32_zero(a) && f32_zero(b))) return 0;
    if (a[31] != b[31]) return a[31];
    return a[31] ? a[30:0] > b[30:0] : a[30:0] < b[30:0];
  endfunction

  // The functions of Numerics 8.1 that select bits or multiply once.
  function automatic logic [31:0] apply(input int fn, input logic [31:0] x,
                                        input logic [31:0] alpha,
                                        input logic [31:0] beta);
    // verilator no_inline_task
    logic [31:0] t;
    case (fn)
      FUNCTION_COPY: return x;
      FUNCTION_NEG: return canonical({~x[31], x[30:0]});
      FUNCTION_ABS: return canonical({1'b0, x[30:0]});
      FUNCTION_RELU:
      return f32_nan(x) ? CANONICAL_NAN : f32_less(0, x) ? x : 32'd0;
      FUNCTION_LEAKYRELU:
      return f32_nan(x) ? CANONICAL_NAN
           : f32_less(x, 0) ? f32_mul(alpha, x) : x;
      FUNCTION_CLIP: begin
        if (f32_nan(x)) return CANONICAL_NAN;
        t = f32_less(x, alpha) ? alpha : x;
        return canonical(f32_less(beta, t) ? beta : t);
      end
      FUNCTION_HARDSIGMOID: begin
        t = f32_add(f32_mul(alpha, x), beta);
        if (f32_nan(t)) return CANONICAL_NAN;
        return f32_less(t, 0) ? 32'd0
             : f32_less(32'h3f800000, t) ? 32'h3f800000 : t;
      end
      FUNCTION_SIGN:
      return f32_nan(x) ? CANONICAL_NAN : f32_zero(x) ? 32'd0
           : {x[31], 31'h3f800000};
      FUNCTION_NOT: return f32_zero(x) ? 32'h3f800000 : 32'd0;
      default: return 32'hdeadbeef;
    endcase
  endfunction

  //--- Conversions (Numerics 10) ----------------------------------------------

  function automatic longint signed sign_extend(input longint unsigned v,
                                                input int bits);
    // verilator no_inline_task
    longint signed r;
    r = longint'(v << (64 - bits));
    return r >>> (64 - bits);
  endfunction

  // A half-width float as binary32; p significant bits, largest field emax.
  function automatic logic [31:0] widen(input logic sign,
                                        input longint unsigned rest,
                                        input int p, input int qmin,
                                        input int emax);
    // verilator no_inline_task
    longint unsigned field, frac;
    field = rest >> (p - 1);
    frac = rest & ((64'd1 << (p - 1)) - 1);
    if (field == 64'(emax)) return {sign, 8'hff, 23'(frac << (24 - p))};
    if (field != 0) frac = frac | (64'd1 << (p - 1));
    return pack_f32(sign, frac, qmin + (field == 0 ? 0 : int'(field) - 1));
  endfunction

  // A stored plain element as binary32.
  function automatic logic [31:0] to_f32(input longint unsigned word,
                                         input int elem);
    // verilator no_inline_task
    case (elem)
      ELEMTYPE_F32: return word[31:0];
      ELEMTYPE_F16: return widen(word[15], 64'(word[14:0]), 11, -24, 31);
      ELEMTYPE_BF16: return {word[15:0], 16'd0};
      ELEMTYPE_I8: return sum_to_f32(sign_extend(word, 8), 0);
      ELEMTYPE_I16: return sum_to_f32(sign_extend(word, 16), 0);
      ELEMTYPE_I32: return sum_to_f32(sign_extend(word, 32), 0);
      ELEMTYPE_I64: return sum_to_f32(longint'(word), 0);
      ELEMTYPE_U8: return sum_to_f32(longint'(word[7:0]), 0);
      ELEMTYPE_U16: return sum_to_f32(longint'(word[15:0]), 0);
      ELEMTYPE_U32: return sum_to_f32(longint'(word[31:0]), 0);
      ELEMTYPE_U64: return word == 0 ? 32'd0 : pack_f32(0, word, 0);
      ELEMTYPE_BOOL: return word[7:0] != 0 ? 32'h3f800000 : 32'd0;
      default: return 32'hdeadbeef;
    endcase
  endfunction

  function automatic int integer_bits(input int elem);
    // verilator no_inline_task
    return 8 * stored_bytes(elem, 0);
  endfunction
  function automatic logic is_unsigned(input int elem);
    // verilator no_inline_task
    return elem == ELEMTYPE_U8 || elem == ELEMTYPE_U16 || elem == ELEMTYPE_U32
        || elem == ELEMTYPE_U64 || elem == ELEMTYPE_BOOL;
  endfunction

  // An integer limited to a type of up to 32 bits, or the 64 bits of a wide one.
  function automatic longint signed saturate(input longint signed v,
                                             input int elem);
    // verilator no_inline_task
    longint signed low, high;
    int bits;
    bits = integer_bits(elem);
    if (elem == ELEMTYPE_BOOL) return v != 0 ? 1 : 0;
    if (elem == ELEMTYPE_U64) return v < 0 ? 0 : v;
    if (bits == 64) return v;
    low = is_unsigned(elem) ? 0 : -(64'sd1 <<< (bits - 1));
    high = is_unsigned(elem) ? (64'sd1 <<< bits) - 1 : (64'sd1 <<< (bits - 1)) - 1;
    return v < low ? low : v > high ? high : v;
  endfunction

  // Truncation toward zero, saturated.
  function automatic longint unsigned f32_to_integer(input logic [31:0] v,
                                                     input int elem);
    // verilator no_inline_task
    int e;
    longint unsigned m;
    longint signed wide;
    if (f32_nan(v)) return 0;
    e = f32_exp(v);
    m = f32_mant(v);
    if (elem == ELEMTYPE_U64) begin
      if (v[31]) return 0;
      if (f32_inf(v) || (m != 0 && msb(m) + e >= 64)) return ~64'd0;
      return e >= 0 ? m << e : -e > 63 ? 0 : m >> -e;
    end
    if (f32_inf(v) || (m != 0 && msb(m) + e >= 63))
      wide = v[31] ? 64'sh8000000000000000 : 64'sh7fffffffffffffff;
    else begin
      wide = e >= 0 ? m << e : -e > 63 ? 0 : m >> -e;
      if (v[31]) wide = -wide;
    end
    return saturate(wide, elem);
  endfunction

  // The nearest integer, ties to even, limited to 40 bits; 0 of a NaN.
  function automatic longint signed f32_round(input logic [31:0] v);
    // verilator no_inline_task
    longint signed wide, limit;
    limit = 64'sd1 <<< 40;
    if (f32_nan(v) || f32_zero(v)) return 0;
    if (f32_inf(v) || f32_log2(v) >= 40) return v[31] ? -limit : limit;
    wide = rne_magnitude(f32_mant(v), -f32_exp(v) > 64 ? 65 : -f32_exp(v));
    return v[31] ? -wide : wide;
  endfunction

  // Binary32 as a stored plain element.
  function automatic longint unsigned from_f32(input logic [31:0] v,
                                               input int elem);
    // verilator no_inline_task
    logic [31:0] half;
    case (elem)
      ELEMTYPE_F32: return 64'(v);
      ELEMTYPE_F16: begin
        if (f32_nan(v)) return 64'({v[31], 5'h1f, 1'b1, v[21:13]});
        if (f32_inf(v)) return 64'({v[31], 15'h7c00});
        half = 32'(pack(f32_mant(v), f32_exp(v), 11, -24, 31));
        return 64'({v[31], half[14:0]});
      end
      ELEMTYPE_BF16: begin
        if (f32_nan(v)) return 64'({v[31], 8'hff, 1'b1, v[21:16]});
        if (f32_inf(v)) return 64'(v[31:16]);
        half = 32'(pack(f32_mant(v), f32_exp(v), 8, -133, 255));
        return 64'({v[31], half[14:0]});
      end
      ELEMTYPE_F64: begin
        if (f32_nan(v)) return {v[31], 11'h7ff, v[22:0] | 23'h400000, 29'd0};
        if (f32_inf(v)) return {v[31], 11'h7ff, 52'd0};
        return {v[31], 63'(pack(f32_mant(v), f32_exp(v), 53, -1074,
                                2047))};
      end
      ELEMTYPE_BOOL: return f32_zero(v) ? 0 : 1;
      default: return f32_to_integer(v, elem);
    endcase
  endfunction

  // The mantissa of a value under the step exponent e (Numerics 2, step 3).
  function automatic longint signed encode_f32(input logic [31:0] v,
                                               input int e, input int w);
    // verilator no_inline_task
    longint signed m, limit;
    int s;
    limit = mantissa_limit(w);
    if (f32_nan(v) || f32_zero(v)) return 0;
    if (f32_inf(v)) return v[31] ? -limit : limit;
    s = e - f32_exp(v);
    if (s < -32) m = limit;
    else m = rne_magnitude(f32_mant(v), s > 64 ? 65 : s);
    if (m > limit) m = limit;
    return v[31] ? -m : m;
  endfunction
endpackage
