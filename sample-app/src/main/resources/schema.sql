create table if not exists stock (
    product   varchar(40) primary key,
    units     int not null,
    remaining int not null,
    fence     bigint default 0 not null
);

create table if not exists orders (
    id       bigint generated always as identity primary key,
    product  varchar(40) not null,
    instance varchar(40) not null
);

create index if not exists orders_by_product on orders (product, id);

-- What each running instance tells the others, for the page
create table if not exists instances (
    name   varchar(40) primary key,
    report varchar(20000) not null,
    seen   timestamp with time zone not null
);
