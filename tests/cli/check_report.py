# SPDX-License-Identifier: Apache-2.0
"""check_report.py SCHEMA COMMAND: whether standard input is what the schema says that COMMAND reports."""
import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
schema["$ref"] = "#/$defs/" + sys.argv[2]
jsonschema.Draft202012Validator.check_schema(schema)
errors = list(jsonschema.Draft202012Validator(schema).iter_errors(json.load(sys.stdin)))
for error in errors:
    print(error.json_path + ": " + error.message)
sys.exit(1 if errors else 0)
