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
