// One input for each kind of schema.
import {
  ActionIcon,
  Box,
  Button,
  Fieldset,
  Group,
  JsonInput,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Select,
  Stack,
  Switch,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { Icon } from "../parts/Icon";
import { labelOf as optionLabel } from "../parts/states";
import type { Errors } from "./check";
import { fieldsOf, helpOf, initialOf, kindOf, labelOf, type Schema, type Values } from "./schema";

interface FieldProps {
  name: string;
  schema: Schema;
  required: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
  path: string;
  errors: Errors;
}

export function Field(props: FieldProps) {
  const { name, schema, required, value, onChange, path, errors } = props;
  const common = {
    label: labelOf(name, schema),
    description: helpOf(schema),
    error: errors[path],
    required,
    withAsterisk: required,
    "data-field": path,
  };
  const placeholder = schema["x-ui"]?.placeholder;
  switch (kindOf(schema)) {
    case "text": {
      const text = { ...common, placeholder, value: String(value ?? "") };
      const set = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value);
      if (schema.format === "password") return <PasswordInput {...text} onChange={set} autoComplete="off" />;
      if (schema["x-ui"]?.multiline) return <Textarea {...text} rows={3} onChange={set} />;
      return <TextInput {...text} onChange={set} type={schema["x-ui"]?.moment ? "datetime-local" : "text"} />;
    }
    case "number":
      return (
        <NumberInput
          {...common}
          placeholder={placeholder}
          value={(value as number | undefined) ?? ""}
          allowDecimal={schema.type !== "integer"}
          min={schema.minimum}
          max={schema.maximum}
          clampBehavior="none"
          onChange={(next) => onChange(next === "" ? undefined : Number(next))}
        />
      );
    case "boolean":
      return (
        <Switch
          label={common.label}
          description={common.description}
          error={common.error}
          data-field={path}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case "choice":
      return <Choice {...props} common={common} />;
    case "choices":
      return (
        <MultiSelect
          {...common}
          data={(schema.items?.enum ?? []).map(String)}
          value={(value as string[] | undefined) ?? []}
          onChange={onChange}
        />
      );
    case "list":
      return <TagsInput {...common} value={(value as string[] | undefined) ?? []} onChange={onChange} />;
    case "rows":
      return <Rows {...props} />;
    case "group":
      return (
        <Fieldset legend={common.label}>
          <Members {...props} values={(value ?? {}) as Values} />
        </Fieldset>
      );
    default:
      return <Json {...props} common={common} />;
  }
}

type Common = {
  common: { label: string; description?: string | undefined; error?: string | undefined; required: boolean };
};

function Choice({ schema, value, onChange, required, common }: FieldProps & Common) {
  const label = schema["x-ui"]?.words ? optionLabel : String;
  const labels = schema["x-ui"]?.labels ?? {};
  const options = (schema.enum ?? []).map((one) => ({
    value: String(one),
    label: labels[String(one)] ?? label(String(one)),
  }));
  const known = (text: string | null) => schema.enum?.find((one) => String(one) === text);
  return (
    <Select
      {...common}
      data={options}
      value={value === undefined ? null : String(value)}
      clearable={!required && schema.default === undefined}
      allowDeselect={false}
      onChange={(text) => onChange(known(text))}
    />
  );
}

function Json({ value, onChange, common }: FieldProps & Common) {
  return (
    <JsonInput
      {...common}
      rows={4}
      formatOnBlur
      defaultValue={value === undefined ? "" : JSON.stringify(value, null, 2)}
      validationError="This is not valid JSON"
      onChange={(text) => {
        try {
          onChange(text === "" ? undefined : JSON.parse(text));
        } catch {
          // Half-typed: the last whole value stays.
        }
      }}
    />
  );
}

function Members({ schema, values, onChange, path, errors }: FieldProps & { values: Values }) {
  return (
    <Stack gap="sm">
      {fieldsOf(schema).map(([name, one]) => (
        <Field
          key={name}
          name={name}
          schema={one}
          required={schema.required?.includes(name) ?? false}
          value={values[name]}
          onChange={(next) => onChange({ ...values, [name]: next })}
          path={`${path}.${name}`}
          errors={errors}
        />
      ))}
    </Stack>
  );
}

function Rows(props: FieldProps) {
  const { name, schema, onChange, path, errors } = props;
  const rows = (props.value as Values[] | undefined) ?? [];
  const item = schema.items ?? {};
  const label = labelOf(name, schema);
  const full = schema.maxItems !== undefined && rows.length >= schema.maxItems;
  return (
    <Fieldset legend={label} data-field={path}>
      <Stack gap="sm">
        {helpOf(schema) && (
          <Text size="xs" c="dimmed">
            {helpOf(schema)}
          </Text>
        )}
        {rows.map((row, index) => (
          <Group key={index} align="flex-start" wrap="nowrap" gap="xs">
            <Group align="flex-start" gap="xs" grow flex={1} preventGrowOverflow={false}>
              {fieldsOf(item).map(([inner, one]) => (
                // A switch has no label above it: it stands beside the inputs, and not beside their labels.
                <Box key={inner} pt={kindOf(one) === "boolean" ? 32 : 0}>
                  <Field
                    name={inner}
                    schema={one}
                    required={item.required?.includes(inner) ?? false}
                    value={row[inner]}
                    onChange={(next) => onChange(rows.with(index, { ...row, [inner]: next }))}
                    path={`${path}.${index}.${inner}`}
                    errors={errors}
                  />
                </Box>
              ))}
            </Group>
            <ActionIcon
              variant="subtle"
              color="gray"
              mt={24}
              aria-label={`Remove ${label} ${index + 1}`}
              onClick={() => onChange(rows.toSpliced(index, 1))}
            >
              <Icon name="close" size={14} />
            </ActionIcon>
          </Group>
        ))}
        {errors[path] && (
          <Text size="xs" c="var(--bad-text)">
            {errors[path]}
          </Text>
        )}
        <Group>
          <Button
            size="xs"
            variant="default"
            disabled={full}
            leftSection={<Icon name="plus" size={14} />}
            onClick={() => onChange([...rows, initialOf(item) ?? {}])}
          >
            Add
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  );
}
