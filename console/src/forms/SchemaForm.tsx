// A form made from a schema: the inputs of an app, the options of an operation, the body of an action.
import { Accordion, Stack } from "@mantine/core";
import type { Errors } from "./check";
import { Field } from "./fields";
import { fieldsOf, type Schema, type Values } from "./schema";

interface Props {
  schema: Schema;
  values: Values;
  onChange: (values: Values) => void;
  errors?: Errors;
}

export function SchemaForm({ schema, values, onChange, errors = {} }: Props) {
  const all = fieldsOf(schema);
  const [plain, advanced] = [
    all.filter(([, one]) => !one["x-ui"]?.advanced),
    all.filter(([, one]) => one["x-ui"]?.advanced),
  ];
  const draw = ([name, one]: [string, Schema]) => (
    <Field
      key={name}
      name={name}
      schema={one}
      required={schema.required?.includes(name) ?? false}
      value={values[name]}
      onChange={(value) => onChange({ ...values, [name]: value })}
      path={name}
      errors={errors}
    />
  );
  return (
    <Stack gap="md">
      {plain.map(draw)}
      {advanced.length > 0 && (
        <Accordion variant="default" chevronPosition="left">
          <Accordion.Item value="advanced">
            <Accordion.Control>Advanced</Accordion.Control>
            <Accordion.Panel>
              <Stack gap="md">{advanced.map(draw)}</Stack>
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
      )}
    </Stack>
  );
}
