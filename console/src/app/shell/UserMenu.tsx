import { Avatar, Menu, useMantineColorScheme } from "@mantine/core";
import { Icon } from "../../parts/Icon";
import { useLogout, useSession } from "../session";
import classes from "./UserMenu.module.css";

const SCHEMES = [
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
  { value: "auto", label: "System" },
] as const;

export function UserMenu() {
  const { user } = useSession();
  const logout = useLogout();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="top-start" width={220} withinPortal>
      <Menu.Target>
        <button type="button" className={classes.target}>
          <span className="visually-hidden">Account of </span>
          <Avatar name={user.name} size={28} radius="xl" color="iris" aria-hidden="true" />
          <span className={classes.words}>
            <span className={classes.name}>{user.name}</span>
            <span className={classes.mail}>{user.email}</span>
          </span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Appearance</Menu.Label>
        {SCHEMES.map(({ value, label }) => (
          <Menu.Item
            key={value}
            role="menuitemradio"
            aria-checked={colorScheme === value}
            rightSection={colorScheme === value ? <Icon name="check" size={14} /> : undefined}
            onClick={() => setColorScheme(value)}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="logout" size={15} />} onClick={() => void logout()}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
