// Lists the declarations that a tree-sitter grammar finds: node treesitter.mjs LANGUAGE < list-of-files
// One line each, tab-separated: file, kind, name, line of the name, first line, last line. A last line "# bytes milliseconds" gives the speed of parsing alone.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const require = createRequire(path.join(process.env.ORACLE_MODULES || process.cwd(), 'x.js'));
const { Parser, Language } = require('web-tree-sitter');
const wasms = path.dirname(require.resolve('@vscode/tree-sitter-wasm/package.json')) + '/wasm';

const lang = process.argv[2];
// The C grammar has a package of its own, whose folder ORACLE_C names; C++ stands in for it.
const wasmOf = { c: 'cpp' };
const field = (n, f) => n.childForFieldName(f);
const up = (n, types, stop = []) => {
  for (n = n.parent; n; n = n.parent) {
    if (types.includes(n.type)) return n;
    if (stop.includes(n.type)) return null;
  }
  return null;
};

// Each rule gives [kind, name node, span node] of a node, or nothing.
const rules = {
  python: {
    function_definition: n => {
      let p = n.parent;
      if (p && p.type === 'decorated_definition') p = p.parent;
      const owner = up(n, ['class_definition', 'function_definition']);
      return [owner && owner.type === 'class_definition' ? 'method' : 'function', field(n, 'name'), n.parent.type === 'decorated_definition' ? n.parent : n];
    },
    class_definition: n => ['class', field(n, 'name'), n.parent.type === 'decorated_definition' ? n.parent : n],
  },
};

const ecma = {
  function_declaration: n => ['function', field(n, 'name'), exported(n)],
  generator_function_declaration: n => ['function', field(n, 'name'), exported(n)],
  function_signature: n => ['function', field(n, 'name'), exported(n)],
  class_declaration: n => ['class', field(n, 'name'), exported(n)],
  class: n => !field(n, 'name') || valued.includes(n.parent.type) ? null : ['class', field(n, 'name'), n],
  abstract_class_declaration: n => ['class', field(n, 'name'), exported(n)],
  interface_declaration: n => ['interface', field(n, 'name'), exported(n)],
  type_alias_declaration: n => ['type', field(n, 'name'), exported(n)],
  enum_declaration: n => ['enum', field(n, 'name'), exported(n)],
  module: n => ['module', field(n, 'name'), exported(n)],
  internal_module: n => ['module', field(n, 'name'), exported(n)],
  method_definition: n => ['method', field(n, 'name'), decoratedMember(n)],
  public_field_definition: n => callable(field(n, 'value')) ? ['method', field(n, 'name'), n] : null,
  field_definition: n => callable(field(n, 'value')) ? ['method', field(n, 'property'), n] : null,
  pair: n => callable(field(n, 'value')) && field(n, 'key').type !== 'computed_property_name' ? [field(n, 'value').type === 'class' ? 'class' : 'method', field(n, 'key'), n] : null,
  enum_assignment: n => ['constant', field(n, 'name'), n],
  property_identifier: n => n.parent.type === 'enum_body' ? ['constant', n, n] : null,
  export_statement: n => {
    const value = field(n, 'value') || field(n, 'declaration');
    if (!n.children.some(c => c.type === 'default') || !value || field(value, 'name') || !(callable(value) || /function|class/.test(value.type))) return null;
    return [/class/.test(value.type) ? 'class' : 'function', n.children.find(c => c.type === 'default'), n];
  },
  variable_declarator: n => {
    const value = field(n, 'value'), list = n.parent;
    if (field(n, 'name').type !== 'identifier') return null;
    const span = list.namedChildren.filter(c => c.type === 'variable_declarator').length === 1 ? exported(list) : n;
    if (callable(value)) return [value.type === 'class' ? 'class' : 'function', field(n, 'name'), span];
    const top = exported(list).parent;
    // A file whose root is an error has nothing above its declarations.
    const atTop = top && (top.type === 'program' || top.type === 'statement_block' && top.parent && ['internal_module', 'module', 'ambient_declaration'].includes(top.parent.type));
    if (list.children[0].text !== 'const' || !atTop || required(value)) return null;
    return ['constant', field(n, 'name'), span];
  },
  assignment_expression: n => {
    const left = field(n, 'left');
    if (n.parent.type !== 'expression_statement' || left.type !== 'member_expression' || !callable(field(n, 'right'))) return null;
    const of = field(left, 'object').text;
    const kind = field(n, 'right').type === 'class' ? 'class' : of === 'this' || of.endsWith('.prototype') || of.startsWith('this.') ? 'method' : 'function';
    return [kind, field(left, 'property'), n.parent];
  },
  method_signature: n => ['interface_body', 'object_type', 'class_body'].includes(n.parent.type) && !up(n, ['object_type'], ['class_body', 'interface_body']) ? ['method', field(n, 'name'), n] : null,
  abstract_method_signature: n => ['method', field(n, 'name'), n],
};
// What a class that is an expression may have its name from.
const valued = ['variable_declarator', 'pair', 'assignment_expression', 'public_field_definition', 'field_definition', 'export_statement'];
// A module, or a member of one, is an import.
const required = n => n && (n.type === 'call_expression' ? field(n, 'function').text === 'require' : n.type === 'member_expression' && required(field(n, 'object')));
const callable = n => n && ['arrow_function', 'function_expression', 'generator_function', 'function', 'class'].includes(n.type);
function decoratedMember(n) {
  let first = n;
  for (let p = n.previousNamedSibling; p && p.type === 'decorator'; p = p.previousNamedSibling) first = p;
  return { startPosition: first.startPosition, endPosition: n.endPosition };
}
function exported(n) {
  while (n.parent && ['export_statement', 'ambient_declaration', 'expression_statement'].includes(n.parent.type)) n = n.parent;
  return n;
}
rules.javascript = rules.typescript = rules.tsx = ecma;

rules.rust = {
  function_item: n => [rustOwner(n) ? 'method' : 'function', field(n, 'name'), attributed(n)],
  function_signature_item: n => [rustOwner(n) ? 'method' : 'function', field(n, 'name'), attributed(n)],
  struct_item: n => ['struct', field(n, 'name'), attributed(n)],
  union_item: n => ['struct', field(n, 'name'), attributed(n)],
  enum_item: n => ['enum', field(n, 'name'), attributed(n)],
  enum_variant: n => ['constant', field(n, 'name'), attributed(n)],
  trait_item: n => ['trait', field(n, 'name'), attributed(n)],
  type_item: n => ['type', field(n, 'name'), attributed(n)],
  const_item: n => ['constant', field(n, 'name'), attributed(n)],
  static_item: n => ['constant', field(n, 'name'), attributed(n)],
  mod_item: n => ['module', field(n, 'name'), attributed(n)],
  macro_definition: n => ['function', field(n, 'name'), attributed(n)],
};
function rustOwner(n) {
  return n.parent.type === 'declaration_list' && ['impl_item', 'trait_item'].includes(n.parent.parent?.type);
}
function attributed(n) {
  let first = n;
  for (let p = n.previousNamedSibling; p && (p.type === 'attribute_item' || p.type.endsWith('comment')); p = p.previousNamedSibling) if (p.type === 'attribute_item') first = p;
  return { startPosition: first.startPosition, endPosition: n.endPosition };
}

rules.java = {
  class_declaration: n => ['class', field(n, 'name'), n],
  record_declaration: n => ['class', field(n, 'name'), n],
  interface_declaration: n => ['interface', field(n, 'name'), n],
  annotation_type_declaration: n => ['interface', field(n, 'name'), n],
  enum_declaration: n => ['enum', field(n, 'name'), n],
  enum_constant: n => ['constant', field(n, 'name'), n],
  method_declaration: n => ['method', field(n, 'name'), n],
  constructor_declaration: n => ['method', field(n, 'name'), n],
  compact_constructor_declaration: n => ['method', field(n, 'name'), n],
  variable_declarator: n => {
    const f = n.parent;
    const inInterface = f.type === 'constant_declaration' || f.type === 'field_declaration' && ['interface_body', 'annotation_type_body'].includes(f.parent?.type);
    const words = f.children[0].type === 'modifiers' ? f.children[0].text : '';
    if (!inInterface && !(f.type === 'field_declaration' && /\bstatic\b/.test(words) && /\bfinal\b/.test(words))) return null;
    return ['constant', field(n, 'name'), f];
  },
  annotation_type_element_declaration: n => ['method', field(n, 'name'), n],
};

const cDeclarator = n => {
  while (n) {
    if (['identifier', 'field_identifier', 'type_identifier', 'destructor_name', 'operator_name', 'operator_cast'].includes(n.type)) return n;
    if (n.type === 'qualified_identifier') { n = field(n, 'name'); continue; }
    if (n.type === 'template_function') { n = field(n, 'name'); continue; }
    n = field(n, 'declarator') || n.namedChildren.find(c => c && /declarator$|identifier$/.test(c.type));
  }
  return null;
};
const cBody = kind => n => field(n, 'body') && field(n, 'name') ? [kind, cDeclarator(field(n, 'name')), templated(n)] : null;
function templated(n) {
  let p = n;
  if (p.parent && p.parent.type === 'template_declaration') p = p.parent;
  return p;
}
function declaresFunction(n) {
  for (let d = field(n, 'declarator'); d; d = field(d, 'declarator') || d.namedChildren.find(c => c && /declarator$/.test(c.type))) {
    if (d.type === 'function_declarator') return d.parent.type !== 'parenthesized_declarator' && field(d, 'declarator').type !== 'parenthesized_declarator';
    if (d.type === 'init_declarator') return false;
  }
  return false;
}
function cFunction(n) {
  let d = field(n, 'declarator');
  let qualified = false;
  for (let k = d; k; k = field(k, 'declarator') || k.namedChildren.find(c => c && /declarator$|^qualified_identifier$/.test(c.type))) if (k.type === 'qualified_identifier') qualified = true;
  const inClass = templated(n).parent?.type === 'field_declaration_list';
  return [qualified || inClass ? 'method' : 'function', cDeclarator(d), templated(n)];
}
const atFileScope = n => !up(n, ['compound_statement'], ['field_declaration_list']);
rules.cpp = {
  function_definition: cFunction,
  declaration: n => declaresFunction(n) && atFileScope(n) ? [...cFunction(n), 'prototype'] : null,
  field_declaration: n => declaresFunction(n) ? cFunction(n) : null,
  struct_specifier: cBody('struct'),
  union_specifier: cBody('struct'),
  class_specifier: cBody('class'),
  enum_specifier: cBody('enum'),
  enumerator: n => ['constant', field(n, 'name'), n],
  preproc_def: n => ['constant', field(n, 'name'), n],
  preproc_function_def: n => ['function', field(n, 'name'), n],
  type_definition: n => ['type', cDeclarator(field(n, 'declarator')), n],
  alias_declaration: n => ['type', field(n, 'name'), templated(n)],
  namespace_definition: n => field(n, 'name') ? ['module', field(n, 'name'), n] : null,
};
rules.c = rules.cpp;

await Parser.init();
const language = await Language.load(lang === 'c' && process.env.ORACLE_C ? process.env.ORACLE_C + '/tree-sitter-c.wasm' : `${wasms}/tree-sitter-${wasmOf[lang] || lang}.wasm`);
const parser = new Parser();
parser.setLanguage(language);

let bytes = 0, spent = 0;
const out = [];
for (const file of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const src = fs.readFileSync(file, 'utf8');
  const began = process.hrtime.bigint();
  const tree = parser.parse(src);
  spent += Number(process.hrtime.bigint() - began) / 1e6;
  bytes += Buffer.byteLength(src);
  const table = rules[lang];
  const from = out.length;
  const cursor = tree.walk();
  for (let down = true; ;) {
    if (down && table[cursor.nodeType]) {
      const got = table[cursor.nodeType](cursor.currentNode);
      if (got && got[1]) {
        const [kind, name, span, prototype] = got;
        out.push([file, kind, name.text.replace(/\s+/g, ' '), name.startPosition.row + 1, span.startPosition.row + 1, span.endPosition.row + (span.endPosition.column > 0 ? 1 : 0), ...(prototype ? [prototype] : [])].join('\t'));
      }
    }
    if (down && cursor.gotoFirstChild()) continue;
    if (cursor.gotoNextSibling()) { down = true; continue; }
    if (!cursor.gotoParent()) break;
    down = false;
  }
  // A prototype stands for its function only where the file does not define it.
  const mine = out.splice(from).map(l => l.split('\t'));
  const defined = new Set(mine.filter(l => l.length === 6).map(l => l[2]));
  out.push(...mine.filter(l => l.length === 6 || !defined.has(l[2])).map(l => l.slice(0, 6).join('\t')));
  cursor.delete();
  tree.delete();
}
process.stdout.write(out.join('\n') + `\n# ${bytes} ${spent.toFixed(1)}\n`);
